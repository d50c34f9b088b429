// Texts of a plan's memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/compile/dump/dump_texts.h"

namespace hloscope::compile {

namespace {

// What a value is called; memory that only copies go to has no instruction of its own.
std::string NameOf(const Plan& plan, const PlacedValue& value) {
  std::string name(plan.module->name(value.id));
  if (value.shape == nullptr) return fmt::format("copy_for_{}_b{}", name, value.buffer);
  if (!value.index.empty()) name += fmt::format("{{{}}}", fmt::join(value.index, ","));
  return name;
}

int64_t StepCount(const Plan& plan) {
  int64_t count = 0;
  ForEachStep(plan, 0, [&](const PlannedStep&) { ++count; });
  return count;
}

class AssignmentText {
 public:
  explicit AssignmentText(const Plan& plan) : plan_(plan), values_(PlacedValues(plan)) {
    for (size_t k = 0; k < values_.size(); ++k) by_buffer_[values_[k].buffer].push_back(k);
  }

  std::string Write(int64_t scratch_bytes) {
    text_ = "BufferAssignment:\n";
    WriteEach(Place::kParameter);
    WriteEach(Place::kConstant);
    WriteEach(Place::kResult);
    WriteEach(Place::kOutside);
    if (plan_.arena_bytes > 0) WriteArena();
    if (scratch_bytes > 0) Begin(scratch_bytes, ", preallocated-temp");
    Append("\nTotal bytes used: {}\n", total_);
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void Append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void Begin(int64_t bytes, std::string_view what) {
    Append("allocation {}: size {}{}:\n", allocations_++, bytes, what);
    total_ += bytes;
  }

  void WriteEach(Place place) {
    for (BufferNumber b = 0; b < plan_.buffers.size(); ++b) {
      const PlannedBuffer& buffer = plan_.buffers[b];
      if (buffer.place != place || (buffer.last < 0 && place != Place::kParameter)) continue;
      Begin(buffer.bytes, WordsOf(b));
      WriteValues(b, 0);
    }
  }

  std::string WordsOf(BufferNumber b) const {
    switch (plan_.buffers[b].place) {
      case Place::kParameter:
        return ParameterWords(b);
      case Place::kConstant:
        return ", constant";
      case Place::kResult:
        return ", maybe-live-out";
      case Place::kArena:
      case Place::kOutside:
        break;
    }
    return "";
  }
  std::string ParameterWords(BufferNumber b) const {
    const auto found = by_buffer_.find(b);
    if (found == by_buffer_.end()) return "";
    const PlacedValue& value = values_[found->second.front()];
    const auto parameters = plan_.module->Parameters(plan_.computation);
    const auto number = std::ranges::find(parameters, value.id) - parameters.begin();
    return fmt::format(", parameter {}, shape |{}| at ShapeIndex {{{}}}", number,
                       hlo::ToString(*value.shape), fmt::join(value.index, ","));
  }

  void WriteArena() {
    Begin(plan_.arena_bytes, ", preallocated-temp");
    std::vector<BufferNumber> order;
    for (BufferNumber b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].place == Place::kArena && plan_.buffers[b].last >= 0) order.push_back(b);
    }
    std::ranges::stable_sort(order, {}, [&](BufferNumber b) { return plan_.buffers[b].at; });
    for (const BufferNumber b : order) WriteValues(b, plan_.buffers[b].at);
  }

  void WriteValues(BufferNumber b, int64_t offset) {
    const auto found = by_buffer_.find(b);
    if (found == by_buffer_.end()) return;
    for (const size_t k : found->second) {
      const PlacedValue& value = values_[k];
      Append(" value: <{} {} @0> (size={},offset={}): {}\n", k, NameOf(plan_, value),
             plan_.buffers[b].bytes, offset,
             value.shape == nullptr ? "u8[]" : hlo::ToString(*value.shape));
    }
  }

  const Plan& plan_;
  std::vector<PlacedValue> values_;
  std::map<BufferNumber, std::vector<size_t>> by_buffer_;
  std::string text_;
  int64_t allocations_ = 0, total_ = 0;
};

// The caller keeps parameters for the whole run.
int64_t LastOf(const Plan& plan, const PlacedValue& value, int64_t end) {
  return plan.buffers[value.buffer].place == Place::kParameter ? end : value.last;
}

// The step at which most bytes are wanted.
int64_t PeakStep(const Plan& plan, int64_t end) {
  std::map<int64_t, int64_t> change;
  for (const PlannedBuffer& buffer : plan.buffers) {
    const bool is_parameter = buffer.place == Place::kParameter;
    if (buffer.last < 0 && !is_parameter) continue;
    change[buffer.first] += buffer.bytes;
    change[(is_parameter ? end : buffer.last) + 1] -= buffer.bytes;
  }
  int64_t live = 0, most = -1, at = 0;
  for (const auto& [step, bytes] : change) {
    live += bytes;
    if (live <= most) continue;
    most = live;
    at = step;
  }
  return at;
}

}  // namespace

std::string BufferAssignmentText(const Plan& plan, int64_t scratch_bytes) {
  return AssignmentText(plan).Write(scratch_bytes);
}

std::string LiveRangeText(const Plan& plan) {
  const int64_t end = StepCount(plan);
  const std::vector<PlacedValue> values = PlacedValues(plan);
  std::string text = fmt::format("HloLiveRange (max {}):\n  InstructionSequence:\n", end);
  const auto out = std::back_inserter(text);
  ForEachStep(plan, 0, [&](const PlannedStep& step) {
    fmt::format_to(out, "    {}:{}\n", step.number, plan.module->name(step.id));
  });
  text += "  BufferLiveRange:\n";
  for (const PlacedValue& value : values) {
    fmt::format_to(out, "    {}{}:{}-{}\n", NameOf(plan, value), value.index.empty() ? "{}" : "",
                   value.first, LastOf(plan, value, end));
  }
  const int64_t peak = PeakStep(plan, end);
  fmt::format_to(out, "  Live ranges at {} (peak):\n", peak);
  for (const PlacedValue& value : values) {
    if (value.first > peak || LastOf(plan, value, end) < peak) continue;
    fmt::format_to(out, "    {}: {} bytes\n", NameOf(plan, value),
                   plan.buffers[value.buffer].bytes);
  }
  return text;
}

}  // namespace hloscope::compile
