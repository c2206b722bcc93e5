use crate::siege::Siege;

pub(crate) fn attack(_siege: &mut Siege) {}
