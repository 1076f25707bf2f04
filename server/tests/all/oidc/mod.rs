//! People sign in by OpenID Connect: at Dex, which is a real provider, and at one of our own that can be wrong in every way.

mod browser;
mod damaged;
mod dex;
mod faults;
mod own;
mod real;
mod renewal;
mod site;
