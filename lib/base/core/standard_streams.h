// File descriptors 0, 1 and 2.
#pragma once

namespace dtrain {

// If our parent closed one of the three (`dtrain run job.yaml >&-`), opens in its place a descriptor that can
// be neither read nor written. Otherwise a file that is opened later would get its number, and our output
// would end up in that file. Call this first.
void occupy_standard_streams();

}  // namespace dtrain
