//! Takes one connection and the services behind it.
//! Gives answers and notifications until the connection ends.
//! May import every room but the roots.
//! Never does a service's work itself.
