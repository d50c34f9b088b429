// HostFeeds: what a replay's infeeds take and its outfeeds give.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

class HostFeeds {
 public:
  // Arrays come from `paths` (as --inputs has them: in0, in1, … or files in order), one for each
  // array that an infeed takes; without paths they are generated from `seed`. An input error if a
  // file cannot be read.
  Status Open(std::span<const std::string> paths, uint64_t seed, const Limits& limits);
  // Before each run: it takes the same arrays again.
  void Rewind();

  // The next array; an input error if the files hold no more, or one of another shape. May be
  // called from any thread, as may the next one.
  Result<hlo::Literal> Take(const hlo::Shape& shape);
  Status Give(const hlo::Literal& array);

  // What the last run gave, in order, and how many arrays were generated for it.
  const std::vector<hlo::Literal>& given() const { return given_; }
  int64_t generated() const { return generated_; }
  // Arrays of the files that the last run did not take, a line per file.
  std::vector<std::string> Unused() const;

 private:
  std::mutex mutex_;
  std::optional<dump::TensorFiles> files_;
  uint64_t seed_ = 0;
  Limits limits_;
  int64_t next_ = 0, generated_ = 0;
  std::vector<hlo::Literal> given_;
};

}  // namespace hloscope::debug
