// ShareBuffers: values that may lie in the same memory become one buffer.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "core/compile/plan/plan_writer.h"

namespace hloscope::compile {

namespace {

constexpr int64_t kBehindAll = std::numeric_limits<int64_t>::max();

// When steps read and write a buffer, by their numbers.
struct Uses {
  std::vector<int64_t> reads, writes;
};

class Sharing {
 public:
  Sharing(PlanDraft& draft, bool overwrites)
      : draft_(draft),
        plan_(draft.plan),
        overwrites_(overwrites),
        one_(draft.plan.buffers.size()),
        uses_(one_.size()) {
    std::iota(one_.begin(), one_.end(), BufferNumber{0});
    NumberSteps(0);
    for (const BufferNumber b : plan_.results) uses_[b].reads.push_back(kBehindAll);
  }

  void Run() {
    ForEachPlace([&](SequenceNumber s, size_t k) { ShareUpdates(s, plan_.sequences[s][k]); });
    ForEachPlace([&](SequenceNumber s, size_t k) { ShareCarried(s, plan_.sequences[s][k]); });
    ForEachPlace([&](SequenceNumber s, size_t k) { ShareCopied(s, plan_.sequences[s][k]); });
    for (Sequence& sequence : plan_.sequences) sequence = Rewritten(std::move(sequence));
    for (BufferNumber& b : plan_.results) b = One(b);
  }

 private:
  template <typename Function>
  void ForEachPlace(const Function& fn) {
    for (SequenceNumber s = 0; s < plan_.sequences.size(); ++s) {
      for (size_t k = 0; k < plan_.sequences[s].size(); ++k) fn(s, k);
    }
  }

  void NumberSteps(SequenceNumber s) {
    for (PlannedStep& step : plan_.sequences[s]) {
      step.number = NextNumber(s);
      if (step.kind == StepKind::kWhile) {
        NumberSteps(step.sequences[0]);
        uses_[step.operands[0]].reads.push_back(NextNumber(s));
        NumberSteps(step.sequences[1]);
      } else {
        for (const BufferNumber b : step.operands) uses_[b].reads.push_back(step.number);
        for (const SequenceNumber inner : step.sequences) NumberSteps(inner);
        if (step.kind != StepKind::kConditional) {
          for (const BufferNumber b : step.results) uses_[b].writes.push_back(step.number);
        }
      }
      step.last_number = std::ssize(sequence_of_);
    }
  }
  // Of a step of that sequence.
  int64_t NextNumber(SequenceNumber s) {
    sequence_of_.push_back(s);
    return std::ssize(sequence_of_) - 1;
  }

  BufferNumber One(BufferNumber b) {
    while (one_[b] != b) b = one_[b] = one_[one_[b]];
    return b;
  }

  // `inner` lies where `outer` does, which is made in the same sequence or further out.
  void Share(BufferNumber inner, BufferNumber outer) {
    one_[inner] = outer;
    Uses& from = uses_[inner];
    Uses& to = uses_[outer];
    to.reads.insert(to.reads.end(), from.reads.begin(), from.reads.end());
    to.writes.insert(to.writes.end(), from.writes.begin(), from.writes.end());
    from = {};
  }

  bool IsArena(BufferNumber b) const { return plan_.buffers[b].place == Place::kArena; }
  bool IsReadBehind(BufferNumber b, int64_t number) const {
    return std::ranges::any_of(uses_[b].reads, [&](int64_t read) { return read > number; });
  }

  // An update in place of what is not wanted afterwards.
  void ShareUpdates(SequenceNumber s, const PlannedStep& step) {
    if (step.kind != StepKind::kKernel) return;
    const std::vector<int> in_place = InPlaceOperands(*plan_.module, step.id);
    for (size_t i = 0; i < in_place.size(); ++i) {
      if (in_place[i] < 0) continue;
      const BufferNumber operand = One(step.operands[static_cast<size_t>(in_place[i])]);
      const BufferNumber result = One(step.results[i]);
      const bool is_once = std::ranges::count_if(step.operands, [&](BufferNumber b) {
                             return One(b) == operand;
                           }) == 1;
      if (operand == result || !is_once || !IsArena(operand) || draft_.home[operand] != s ||
          IsReadBehind(operand, step.number)) {
        continue;
      }
      Share(result, operand);
    }
  }

  // What a turn hands on is made where the next one finds it, if nobody in between wants what is
  // there.
  void ShareCarried(SequenceNumber s, const PlannedStep& copy) {
    if (copy.kind != StepKind::kCopy || !draft_.owners[s].is_loop) return;
    const BufferNumber from = One(copy.operands[0]), to = One(copy.results[0]);
    if (from == to || !IsArena(from) || draft_.home[from] != s || draft_.home[to] == s) return;
    if (IsFree(s, from, to, copy.number)) Share(from, to);
  }
  // True if nobody wants what is in `to` from when `from` is first written until it is copied
  // there, by a step of s.
  bool IsFree(SequenceNumber s, BufferNumber from, BufferNumber to, int64_t copied) {
    const std::vector<int64_t>& writes = uses_[from].writes;
    if (writes.empty()) return false;
    const int64_t first = *std::ranges::min_element(writes);
    for (const int64_t read : uses_[to].reads) {
      if (read < first || read > copied) continue;
      for (const int64_t written : writes) {
        if (read < written || AreOtherBranches(s, read, written)) continue;
        if (read > written || !IsUpdate(written, from, to)) return false;
      }
    }
    return true;
  }
  // True if only one of these steps runs whenever s does.
  bool AreOtherBranches(SequenceNumber s, int64_t a, int64_t b) const {
    const SequenceNumber in_a = PartOf(s, a), in_b = PartOf(s, b);
    if (in_a == in_b || in_a == s || in_b == s) return false;
    const SequenceOwner &of_a = draft_.owners[in_a], &of_b = draft_.owners[in_b];
    return of_a.parent == s && of_b.parent == s && !of_a.is_loop && of_a.caller == of_b.caller;
  }
  // The sequence in which the step stands, or that which a step of s runs and it is part of.
  SequenceNumber PartOf(SequenceNumber s, int64_t number) const {
    SequenceNumber in = sequence_of_[static_cast<size_t>(number)];
    while (in != 0 && in != s && draft_.owners[in].parent != s) in = draft_.owners[in].parent;
    return in;
  }
  // True if the step, which writes `from` and reads `to`, could do both in one memory: it copies,
  // updates in place, or reads each element where it writes one.
  bool IsUpdate(int64_t number, BufferNumber from, BufferNumber to) {
    const Sequence& steps = plan_.sequences[sequence_of_[static_cast<size_t>(number)]];
    const auto step = std::ranges::find(steps, number, &PlannedStep::number);
    if (step->kind == StepKind::kCopy) return true;
    if (step->kind != StepKind::kKernel) return false;
    const std::vector<int> in_place = InPlaceOperands(*plan_.module, step->id);
    const auto all_reads = [&](const auto& fit) {
      for (size_t i = 0; i < step->operands.size(); ++i) {
        if (One(step->operands[i]) == to && !fit(i)) return false;
      }
      return true;
    };
    const auto reads =
        std::ranges::count_if(step->operands, [&](BufferNumber b) { return One(b) == to; });
    if (reads == 1 &&
        all_reads([&](size_t i) { return UpdatedInto(*step, in_place, i) == from; })) {
      return true;
    }
    if (!overwrites_ || plan_.buffers[from].bytes != plan_.buffers[to].bytes) return false;
    const std::vector<bool> overwritable = OverwritableOperands(*plan_.module, step->id);
    return all_reads([&](size_t i) { return overwritable[i]; });
  }

  // The result that the step makes in the memory of that operand, if it does of any.
  std::optional<BufferNumber> UpdatedInto(const PlannedStep& step, const std::vector<int>& in_place,
                                          size_t operand) {
    const auto it = std::ranges::find(in_place, static_cast<int>(operand));
    if (it == in_place.end()) return std::nullopt;
    return One(step.results[static_cast<size_t>(it - in_place.begin())]);
  }

  // What is only made to be copied: into what a loop carries, or a branch yields.
  void ShareCopied(SequenceNumber s, const PlannedStep& copy) {
    if (copy.kind != StepKind::kCopy) return;
    const BufferNumber from = One(copy.operands[0]), to = One(copy.results[0]);
    if (from == to || !IsArena(from) || draft_.home[from] != s) return;
    const bool is_of_loop = draft_.owners[s].is_loop && draft_.home[to] != s;
    if (is_of_loop) return;
    const bool is_of_branch = draft_.home[to] != s;
    if (!is_of_branch && IsReadBehind(from, copy.number)) return;
    if (IsFree(s, from, to, copy.number)) Share(from, to);
  }

  // With the buffers that are left, the copies that are still needed and those that updates need.
  Sequence Rewritten(Sequence steps) {
    Sequence out;
    for (PlannedStep& step : steps) {
      for (BufferNumber& b : step.operands) b = One(b);
      for (BufferNumber& b : step.results) b = One(b);
      if (step.kind == StepKind::kCopy && step.operands == step.results) continue;
      if (step.kind == StepKind::kKernel) AddUpdateCopies(step, out);
      out.push_back(std::move(step));
    }
    return out;
  }
  void AddUpdateCopies(const PlannedStep& step, Sequence& out) {
    const std::vector<int> in_place = InPlaceOperands(*plan_.module, step.id);
    for (size_t i = 0; i < in_place.size(); ++i) {
      if (in_place[i] < 0) continue;
      const BufferNumber operand = step.operands[static_cast<size_t>(in_place[i])];
      if (operand == step.results[i]) continue;
      out.push_back(PlannedStep{StepKind::kCopy, step.id, {operand}, {step.results[i]}});
    }
  }

  PlanDraft& draft_;
  Plan& plan_;
  bool overwrites_;
  std::vector<BufferNumber> one_;  // by buffer: another it shares memory with, or itself
  std::vector<Uses> uses_;
  std::vector<SequenceNumber> sequence_of_;  // by number of a step
};

}  // namespace

void ShareBuffers(PlanDraft& draft, bool overwrites) { Sharing(draft, overwrites).Run(); }

}  // namespace hloscope::compile
