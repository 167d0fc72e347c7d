//! rule.
