# The vector instructions that the sums use on this machine.
instruction_set <- function() answered(.Call(wrap__native_instruction_set))

.onLoad <- function(libname, pkgname) instruction_set()
