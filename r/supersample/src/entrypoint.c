/* R calls this when it loads the library; extendr registers the functions of the crate. */
void R_init_supersample_extendr(void *dll);

void R_init_supersample(void *dll) {
    R_init_supersample_extendr(dll);
}
