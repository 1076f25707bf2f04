// Hands in what stands behind the # of a link, which browsers tell no server; takes it out of the address first.
const secret = decodeURIComponent(location.hash.slice(1));
if (secret) {
  history.replaceState(null, "", location.pathname);
  addEventListener("DOMContentLoaded", () => {
    const form = document.getElementById("shared");
    form.secret.value = secret;
    form.submit();
  });
}
