// Something that a row needs and that the machine, or the clone, lacks: the row is "not measured". The message says
// what to do.
export class Missing extends Error {}
