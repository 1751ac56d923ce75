// The descriptors 0, 1 and 2.
#pragma once

namespace dtrain {

// Where our parent closed one of the three (`dtrain run job.yaml >&-`), puts something there that can be
// neither read nor written, so that no file that is opened later gets its number and what is printed. To be
// called first.
void occupy_standard_streams();

}  // namespace dtrain
