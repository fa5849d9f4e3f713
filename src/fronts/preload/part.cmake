# A thread that is cancelled is unwound through these, by whatever unwinder the program has.
target_compile_options(${PART} PRIVATE -fno-exceptions)
