.onLoad <- function(libname, pkgname) answered(.Call(wrap__native_instruction_set))
