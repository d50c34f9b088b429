// PlacedValues: which instruction's value is in a buffer, and when.
#include <algorithm>
#include <map>
#include <tuple>

#include "core/compile/dump/dump_texts.h"

namespace hloscope::compile {

using hlo::InstructionId;
using hlo::Shape;

namespace {

class Placing {
 public:
  explicit Placing(const Plan& plan) : plan_(plan) {}

  std::vector<PlacedValue> Find() {
    AddParameters();
    for (BufferNumber b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].place == Place::kConstant) AddBuffer(b);
    }
    ForEachStep(plan_, 0, [&](const PlannedStep& step) { AddResults(step); });
    for (BufferNumber b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].last >= 0 && !has_value_.contains(b)) AddBuffer(b);
    }
    Order();
    return std::move(values_);
  }

 private:
  void AddParameters() {
    size_t next = 0;
    for (const InstructionId parameter : plan_.module->Parameters(plan_.computation)) {
      AddLeaves(parameter, plan_.parameters, next, 0);
    }
  }
  void AddResults(const PlannedStep& step) {
    if (step.kind == StepKind::kCopy) return;  // of a value that is there already
    size_t next = 0;
    AddLeaves(step.id, step.results, next, step.last_number);
  }
  // A constant, or memory that only copies go to.
  void AddBuffer(BufferNumber b) {
    const PlannedBuffer& buffer = plan_.buffers[b];
    const Shape& shape = plan_.module->shape(buffer.made_by);
    const bool is_whole = shape.IsArray();
    Add({b, buffer.made_by, {}, is_whole ? &shape : nullptr, buffer.first, 0});
  }

  void AddLeaves(InstructionId id, const std::vector<BufferNumber>& buffers, size_t& next,
                 int64_t first) {
    for (auto& [index, shape] : plan_.module->shape(id).Leaves()) {
      const BufferNumber b = buffers[next++];
      if (shape->IsArray()) Add({b, id, index, shape, first, 0});
    }
  }
  void Add(PlacedValue value) {
    const PlannedBuffer& buffer = plan_.buffers[value.buffer];
    if (buffer.last < 0 && buffer.place != Place::kParameter) return;
    has_value_[value.buffer] = true;
    values_.push_back(std::move(value));
  }

  // What comes behind another in its buffer ends it; together they fill the buffer's time.
  void Order() {
    std::ranges::stable_sort(values_, {},
                             [](const PlacedValue& v) { return std::tuple(v.buffer, v.first); });
    for (size_t k = 0; k < values_.size(); ++k) {
      PlacedValue& value = values_[k];
      const PlannedBuffer& buffer = plan_.buffers[value.buffer];
      if (k == 0 || values_[k - 1].buffer != value.buffer) value.first = buffer.first;
      const bool is_last = k + 1 == values_.size() || values_[k + 1].buffer != value.buffer;
      value.last = std::max(value.first, is_last ? buffer.last : values_[k + 1].first);
    }
  }

  const Plan& plan_;
  std::map<BufferNumber, bool> has_value_;
  std::vector<PlacedValue> values_;
};

}  // namespace

std::vector<PlacedValue> PlacedValues(const Plan& plan) { return Placing(plan).Find(); }

}  // namespace hloscope::compile
