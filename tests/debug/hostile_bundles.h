// Bundles that nobody should open: mutations of a good one, and attacks by name.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hloscope::debug {

// The parts of a small good bundle, its manifest first.
std::vector<std::pair<std::string, std::string>> GoodParts();
std::string ZipOf(const std::vector<std::pair<std::string, std::string>>& parts);

struct HostileBundle {
  std::string name;  // what is wrong with it
  std::string bytes;
  std::string reason;  // part of the message that refuses it; empty: any message
};
// Each is to be refused.
std::vector<HostileBundle> Attacks();

}  // namespace hloscope::debug
