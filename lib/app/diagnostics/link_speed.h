// Measures the links between the hosts of a group.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/gloo_group.h"

namespace dtrain {

struct LinkSpeed {
  int64_t first = 0, second = 0;  // ranks
  double round_trip_us = 0;       // the least of many
  double gb_per_second = 0;       // of a large message that goes there and comes back
};

// The links to measure, without their speeds: of up to 16 ranks all, of more those of a ring.
std::vector<LinkSpeed> links_among(int64_t ranks);

// Measures these links one after the other, so that they do not share the network, for some 0.2 s each. Every
// rank gets all. Collective. Throws Error(kPeerLost).
std::vector<LinkSpeed> measure_links(GlooGroup& group);

}  // namespace dtrain
