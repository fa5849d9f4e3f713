// build: -O1 -pthread
#include "parity/parity.cc"
#include "parity/around.cc"
