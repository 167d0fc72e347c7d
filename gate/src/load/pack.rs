//! Checked data as bytes: what the build script writes, and the library reads without parsing.
//!
//! Numbers are LEB128, texts and lists carry their length, a closed list of names is a position in
//! it. The form is private to one build: both sides are compiled from this file.

use crate::load::rules::Judgement;
use crate::model::context::Preset;
use crate::model::fact::{CodePlace, EffectKind, Place};
use crate::model::rule::{
    AllowEntry, CodeCondition, Condition, Knowledge, LabelSpec, Labels, PathCondition, Rule,
    RuleSet, SubstitutionCondition,
};
use crate::model::utility::{
    CarryForm, CarryScope, CarrySpec, EffectObject, EffectSpec, Grammar, Input, Language,
    OperandPlace, OperandSpec, OptionSpec, Output, Syntax, Utility, UtilityId, ValueArity,
    ValueKind, VariableClass, VariableSpec,
};
use crate::model::verdict::Decision;

/// A value that can be written as bytes and read back.
pub trait Pack: Sized {
    /// Appends the value.
    fn pack(&self, out: &mut Vec<u8>);
    /// Takes the value from the front; `None` where the bytes are no such value.
    fn unpack(input: &mut &[u8]) -> Option<Self>;
}

fn byte(input: &mut &[u8]) -> Option<u8> {
    let (first, rest) = input.split_first()?;
    *input = rest;
    Some(*first)
}

/// The lowest seven bits.
fn low(value: usize) -> u8 {
    u8::try_from(value & 0x7f).unwrap_or_default()
}

impl Pack for usize {
    fn pack(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            out.push(low(rest) | 0x80);
            rest >>= 7;
        }
        out.push(low(rest));
    }

    fn unpack(input: &mut &[u8]) -> Option<Self> {
        let mut value = 0;
        let mut shift = 0;
        loop {
            let next = byte(input)?;
            value |= usize::from(next & 0x7f).checked_shl(shift)?;
            if next < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }
}

impl Pack for bool {
    fn pack(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn unpack(input: &mut &[u8]) -> Option<Self> {
        Some(byte(input)? != 0)
    }
}

impl Pack for String {
    fn pack(&self, out: &mut Vec<u8>) {
        self.len().pack(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn unpack(input: &mut &[u8]) -> Option<Self> {
        let length = usize::unpack(input)?;
        let (text, rest) = input.split_at_checked(length)?;
        *input = rest;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.len().pack(out);
        for item in self {
            item.pack(out);
        }
    }

    fn unpack(input: &mut &[u8]) -> Option<Self> {
        let length = usize::unpack(input)?;
        let mut list = Self::with_capacity(length.min(input.len()));
        for _ in 0..length {
            list.push(T::unpack(input)?);
        }
        Some(list)
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.is_some().pack(out);
        if let Some(value) = self {
            value.pack(out);
        }
    }

    fn unpack(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::unpack(input)? { Some(T::unpack(input)?) } else { None })
    }
}

impl<T: Pack> Pack for Box<T> {
    fn pack(&self, out: &mut Vec<u8>) {
        self.as_ref().pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Self> {
        T::unpack(input).map(Self::new)
    }
}

impl Pack for UtilityId {
    fn pack(&self, out: &mut Vec<u8>) {
        (self.0 as usize).pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Self> {
        usize::unpack(input).and_then(|number| u32::try_from(number).ok()).map(Self)
    }
}

/// Types with a closed list of names, as the position in it.
macro_rules! pack_names {
    ($($name:ident),* $(,)?) => { $(
        impl Pack for $name {
            fn pack(&self, out: &mut Vec<u8>) {
                Self::ALL.iter().position(|one| one == self).unwrap_or_default().pack(out);
            }

            fn unpack(input: &mut &[u8]) -> Option<Self> {
                Self::ALL.get(usize::unpack(input)?).copied()
            }
        }
    )* };
}

pack_names!(
    CarryForm,
    CarryScope,
    CodePlace,
    EffectKind,
    Grammar,
    Input,
    Language,
    OperandPlace,
    Output,
    Place,
    Syntax,
    ValueArity,
    ValueKind,
    VariableClass,
);

/// Types that are written as their name.
macro_rules! pack_by_name {
    ($($name:ident),*) => { $(
        impl Pack for $name {
            fn pack(&self, out: &mut Vec<u8>) {
                self.name().to_owned().pack(out);
            }

            fn unpack(input: &mut &[u8]) -> Option<Self> {
                Self::from_name(&String::unpack(input)?)
            }
        }
    )* };
}

pack_by_name!(Decision, Preset);

/// Structures, field by field; a field behind `not` is left out and read as its default.
macro_rules! pack_fields {
    ($name:ident { $($field:ident),* $(,)? } $(not { $($left:ident),* })?) => {
        impl Pack for $name {
            fn pack(&self, out: &mut Vec<u8>) {
                $( self.$field.pack(out); )*
            }

            fn unpack(input: &mut &[u8]) -> Option<Self> {
                Some(Self {
                    $( $field: Pack::unpack(input)?, )*
                    $( $( $left: Default::default(), )* )?
                })
            }
        }
    };
}

pack_fields!(Utility {
    name,
    aliases,
    parent,
    subcommands,
    syntax,
    options,
    operands,
    effects,
    carries,
    recursive,
    force,
    dry,
    inert,
    language,
    input,
    output,
    grammar,
    builtin,
    closed,
    requires_subcommand,
    code_files,
    plain_words,
} not { index });
pack_fields!(OptionSpec { names, value, kind, effects, language });
pack_fields!(OperandSpec { place, kind, effects, when, unless, at_least });
pack_fields!(EffectSpec {
    kind,
    object,
    when,
    unless,
    without_operands,
    with_operands,
    at_least,
    words,
    away
});
pack_fields!(CarrySpec {
    form,
    skip,
    assignments,
    when,
    unless,
    until,
    scope,
    appends,
    placeholder,
    placeholder_option,
    program_option,
});
pack_fields!(VariableSpec { name, class, programs, plain });
pack_fields!(Judgement { rules, labels, knowledge });
pack_fields!(RuleSet { rules, allowed });
pack_fields!(AllowEntry { utility, arguments, more });
pack_fields!(Rule { id, label, maybe, why, doubt, instead, source, condition }
    not { hits, unsure, misses });
pack_fields!(Labels { specs });
pack_fields!(LabelSpec { name, detail, meaning, yes, maybe });
pack_fields!(PathCondition {
    place,
    everything,
    sensitive,
    emptied,
    named,
    spelled,
    fresh,
    told,
    pattern,
    glob
});
pack_fields!(CodeCondition { language, place, known, plain, network });
pack_fields!(SubstitutionCondition { readers, known, decides });
pack_fields!(Knowledge {
    system,
    temporary,
    home_parents,
    home_settings,
    harmless_devices,
    sensitive_names,
    sensitive_endings,
    sensitive_globs,
    sensitive_paths,
    sensitive_directories,
    harmless_endings,
    generated,
    generated_endings,
    public,
    control,
    protected_branches,
});

/// Enumerations whose variants hold one value or none, by a number for each.
macro_rules! pack_variants {
    ($name:ident { $($number:literal $variant:ident $(($inner:ident))?),* $(,)? }) => {
        impl Pack for $name {
            fn pack(&self, out: &mut Vec<u8>) {
                match self {
                    $( Self::$variant $(($inner))? => {
                        out.push($number);
                        $( $inner.pack(out); )?
                    } )*
                }
            }

            fn unpack(input: &mut &[u8]) -> Option<Self> {
                Some(match byte(input)? {
                    $( $number => Self::$variant $(({
                        let $inner = Pack::unpack(input)?;
                        $inner
                    }))?, )*
                    _ => return None,
                })
            }
        }
    };
}

pack_variants!(EffectObject {
    0 None,
    1 Operands,
    2 Directory,
    3 Path(path),
    4 UrlName,
});
pack_variants!(Condition {
    0 All(parts),
    1 Any(parts),
    2 Not(part),
    3 Effect(kinds),
    4 Recursive,
    5 Force,
    6 Path(path),
    7 Host(globs),
    8 ProtectedBranch,
    9 Code(code),
    10 Name(globs),
    11 Unresolved,
    12 Utility(names),
    13 Subcommand(names),
    14 Option(names),
    15 Via(names),
    16 Scope(scopes),
    17 Shadowed,
    18 Gap,
    19 Substitution(substitution),
    20 Job,
    21 Bomb,
    22 Setting(class),
    23 Preset(preset),
    24 Source(globs),
});
