//! From text to script: tokens, commands, lists; what is not understood is a gap.
