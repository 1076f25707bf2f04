// What a wall asks of its browser: an awake screen, a picture that does not burn in, and tones if they are wanted.
const SHIFT_MINUTES = 10;
const shifts = [0, 2, 4, 6, 8, 6, 4, 2];

const wall = document.querySelector(".wall");

// The screen stays awake while the page is seen. Browsers let go of the lock when it is hidden.
const stayAwake = () => {
  if (document.visibilityState === "visible") navigator.wakeLock?.request("screen").catch(() => {});
};
document.addEventListener("visibilitychange", stayAwake);
stayAwake();

// Everything moves by 2 px every ten minutes, within 8 px.
let step = 0;
setInterval(() => {
  step += 1;
  const [x, y] = [shifts[step % 8], shifts[Math.floor(step / 8) % 8]];
  wall.style.transform = `translate(${x}px, ${y}px)`;
}, SHIFT_MINUTES * 60_000);

// A low tone when something gets stuck, two rising ones when it is done. Browsers may want to be allowed to play sound first.
if (wall.dataset.sound === "on") {
  const audio = new AudioContext();
  const tone = (hertz, at) => {
    const [oscillator, volume] = [audio.createOscillator(), audio.createGain()];
    oscillator.frequency.value = hertz;
    volume.gain.setValueAtTime(0.15, audio.currentTime + at);
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + at + 0.5);
    oscillator.connect(volume).connect(audio.destination);
    oscillator.start(audio.currentTime + at);
    oscillator.stop(audio.currentTime + at + 0.5);
  };
  const sounds = { bad: [[196, 0]], ok: [[523, 0], [784, 0.18]] };
  const toneOf = (tile) => ["bad", "busy", "ok"].find((name) => tile.classList.contains(name));
  const known = new Map();
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (target.parentElement?.id !== "tiles") continue;
      const [name, now] = [target.querySelector("h2").textContent, toneOf(target)];
      const before = known.get(target);
      known.set(target, { name, now });
      const isNews = before?.name === name && before.now !== now && before.now !== undefined;
      if (isNews) sounds[now]?.forEach(([hertz, at]) => tone(hertz, at));
    }
  }).observe(document.getElementById("tiles"), { subtree: true, attributeFilter: ["class"] });
}
