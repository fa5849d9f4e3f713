// build: -O2 -D_FORTIFY_SOURCE=2 -pthread
#include "parity/around.cc"
#include "parity/parity.cc"
