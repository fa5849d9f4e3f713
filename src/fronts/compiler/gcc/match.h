// Which pragma is about which call.
#pragma once

namespace sluice {

// Over all functions, once: finds each pragma's call, injects the stub, and says what is wrong with the rest.
void apply_pragmas();

}  // namespace sluice
