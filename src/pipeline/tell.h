// How a process of a run tells its keeper something.
#pragma once

#include "pipeline/area.h"

namespace sluice {

// Of which the kernel, or who has no descriptor left, tells the keeper: its SIGRTMIN. That of a program may
// be another one.
inline constexpr int keeper_signal = 34;

bool keeper_lives(const Area& area);
// With a descriptor, or -1. False where nobody listens.
bool tell_keeper(const Area& area, const KeeperMessage& message, int passed);
// Until the keeper has changed `held`, for so many tenths of a second; one that is stopped is not waited for.
void wait_for_keeper(const Area& area, const Buffer& buffer, std::uint32_t held, int most);
// Tells it of a file, or of none (-1), and waits until it has done what it does. False where it could not.
bool ask_keeper(Area& area, KeeperMessage::Kind kind, int fd);

}  // namespace sluice
