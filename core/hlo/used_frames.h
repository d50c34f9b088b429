// UsedFrames: the stack-frame tables as XLA keeps them after reading a text: only frames that some
// instruction names and their callers, each once, numbered in the order of first use.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

class UsedFrames {
 public:
  explicit UsedFrames(const Module& module);

  const StackFrames& tables() const { return tables_; }
  // The new number of a frame of the module; 0 for one that is not there, or whose callers are not.
  int32_t operator[](int32_t frame) const {
    return frame > 0 && static_cast<size_t>(frame) < numbers_.size()
               ? numbers_[static_cast<size_t>(frame)]
               : 0;
  }

 private:
  void Use(int32_t frame);
  int32_t Add(const StackFrames::Frame& frame, int32_t parent);
  bool IsSound(int32_t frame) const;
  int32_t AddName(StringId name, std::map<StringId, int32_t>& ids, std::vector<StringId>& names);

  static constexpr int32_t kUnknown = -1;  // not looked at yet
  static constexpr int32_t kPending = -2;
  const StackFrames& given_;
  StackFrames tables_;
  std::vector<int32_t> numbers_;  // by frame number of the module
  std::vector<int32_t> chain_;
  std::map<StringId, int32_t> files_, functions_;
  std::map<std::tuple<int32_t, int32_t, int32_t, int32_t, int32_t, int32_t>, int32_t> locations_;
  std::map<std::pair<int32_t, int32_t>, int32_t> frames_;
};

}  // namespace hloscope::hlo
