// UsedFrames: the stack-frame tables as XLA keeps them after reading a text: only frames that some
// instruction names and their callers, each once, numbered in the order of first use.
#pragma once

#include <cstdint>
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
  // New numbers by number given, both from 1; 0: not used yet. Equal rows of the given table have
  // one row, the first of them.
  struct Renumbering {
    std::vector<int32_t> first_equal;
    std::vector<int32_t> numbers;
    template <typename Row, typename Hash, typename Equal>
    void FindEqual(const std::vector<Row>& rows, Hash hash, Equal equal);
    bool Has(int32_t id) const { return id > 0 && static_cast<size_t>(id) < first_equal.size(); }
    int32_t First(int32_t id) const { return first_equal[static_cast<size_t>(id)]; }
    template <typename Row>
    int32_t Use(int32_t id, const Row& row, std::vector<Row>& rows);
  };
  void FindEqualRows();
  void Use(int32_t frame);
  int32_t Add(const StackFrames::Frame& frame, int32_t parent);
  bool IsSound(int32_t frame) const;

  static constexpr int32_t kUnknown = -1;  // not looked at yet
  static constexpr int32_t kPending = -2;
  const StackFrames& given_;
  StackFrames tables_;
  Renumbering files_, functions_, locations_;
  std::vector<int32_t> numbers_;  // of frames, by number given
  std::vector<int32_t> chain_;
  std::vector<uint32_t> frame_slots_;  // hash table of new frame numbers, 0 is free
};

}  // namespace hloscope::hlo
