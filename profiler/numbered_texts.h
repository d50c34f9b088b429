// NumberedTexts: a table of texts in a plane of an XSpace, which events name by number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/hlo/proto/wire_writer.h"

namespace hloscope::profiler {

// From 1 on, in the order in which they are first asked for.
class NumberedTexts {
 public:
  int64_t NumberOf(std::string_view text) {
    const auto [entry, is_new] = numbers_.try_emplace(std::string(text), std::ssize(texts_) + 1);
    if (is_new) texts_.push_back(entry->first);
    return entry->second;
  }
  // As entries of the map `field` of the plane, whose values have a number in field 1 and a name in
  // field 2.
  void Write(hlo::WireWriter& plane, uint32_t field) const {
    for (size_t i = 0; i < texts_.size(); ++i) {
      const auto entry = plane.Open(field);
      plane.Varint(1, i + 1);
      const auto metadata = plane.Open(2);
      plane.Varint(1, i + 1);
      plane.Bytes(2, texts_[i]);
      plane.Close(metadata);
      plane.Close(entry);
    }
  }

 private:
  std::unordered_map<std::string, int64_t> numbers_;
  std::vector<std::string> texts_;
};

}  // namespace hloscope::profiler
