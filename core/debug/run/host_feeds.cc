// HostFeeds: arrays from files or generated, in the order they are asked for.
#include "core/debug/run/host_feeds.h"

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/debug/run/recorded_arguments.h"
#include "core/eval/numbers/random_fill.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Shape;

Status HostFeeds::Open(std::span<const std::string> paths, uint64_t seed, const Limits& limits) {
  seed_ = seed;
  limits_ = limits;
  if (paths.empty()) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(files_, OpenArrays(paths, dump::BundlePart::kInfeed, limits));
  return {};
}

void HostFeeds::Rewind() {
  next_ = generated_ = 0;
  given_.clear();
}

std::vector<std::string> HostFeeds::Unused() const {
  std::vector<std::string> lines;
  if (!files_) return lines;
  lines = files_->Unused({.leaves = next_, .arrays = next_});
  for (std::string& line : lines) {
    line += fmt::format(": the run took {} of --infeed", Counted(next_, "array"));
  }
  return lines;
}

Result<Literal> HostFeeds::Take(const Shape& shape) {
  const std::lock_guard lock(mutex_);
  const int64_t number = next_++;
  if (files_) {
    HLOSCOPE_ASSIGN_OR_RETURN(std::optional<Literal> literal, files_->Input(number, shape));
    if (literal) return *std::move(literal);
    return InputError(fmt::format("--infeed: no in{} for the next infeed, {}", number,
                                  hlo::ToString(shape, false)));
  }
  const std::optional<int64_t> bytes = shape.ByteSize();
  if (!shape.IsArray() || !bytes || *bytes > limits_.tensor_bytes) {
    return InputError(
        fmt::format("cannot generate a {} for an infeed", hlo::ToString(shape, false)));
  }
  ++generated_;
  std::vector<std::byte> data(static_cast<size_t>(*bytes));
  eval::FillRandom(shape.element_type(),
                   seed_ * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(number) + 1, data.data(),
                   shape.ElementCount().value_or(0));
  return Literal::Dense(shape, std::move(data));
}

Status HostFeeds::Give(const Literal& array) {
  const std::lock_guard lock(mutex_);
  given_.push_back(array);
  return {};
}

}  // namespace hloscope::debug
