// Deadlocks of send and recv in scheduled modules (XLA: VerifyNoCollectiveDeadlocks). Strict
// findings: XLA looks for them on GPU only.
#include <algorithm>
#include <charconv>
#include <map>

#include "core/hlo/verify/verify_context.h"

namespace hloscope::hlo {
namespace {

using enum Opcode;

constexpr std::string_view kPairsAttribute = "_xla_send_recv_source_target_pairs";
constexpr std::string_view kPipelineAttribute = "_xla_send_recv_pipeline";
// Pending transfers are compared with each other; more are not looked at.
constexpr size_t kMaxPending = 256;

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

// Reads "{{0,1},{1,2}}"; digits are all that counts.
Pairs ReadPairs(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < text.size();) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), value);
    if (error == std::errc()) numbers.push_back(value);
    i = std::max(i + 1, static_cast<size_t>(end - text.data()));
  }
  Pairs pairs;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) pairs.emplace_back(numbers[i], numbers[i + 1]);
  return pairs;
}

bool HasDuplicates(const Pairs& pairs) {
  std::vector<int64_t> sources, targets;
  for (auto [from, to] : pairs) sources.push_back(from), targets.push_back(to);
  std::sort(sources.begin(), sources.end());
  std::sort(targets.begin(), targets.end());
  return std::adjacent_find(sources.begin(), sources.end()) != sources.end() ||
         std::adjacent_find(targets.begin(), targets.end()) != targets.end();
}

// Only called on pairs with unique sources: every device has at most one target.
bool HasCycle(const Pairs& pairs) {
  std::map<int64_t, int64_t> next(pairs.begin(), pairs.end());
  std::map<int64_t, size_t> visited;
  size_t round = 0;
  for (auto [start, to] : pairs) {
    ++round;
    for (int64_t at = start;;) {
      auto [seen, fresh] = visited.emplace(at, round);
      if (!fresh) {
        if (seen->second == round) return true;
        break;
      }
      auto step = next.find(at);
      if (step == next.end()) break;
      at = step->second;
    }
  }
  return false;
}

bool Conflicts(const Pairs& pairs) { return HasDuplicates(pairs) || HasCycle(pairs); }

struct Transfer {
  InstructionId id;
  std::string_view pairs;
};

// Walks instructions in schedule order, through called computations, expecting that transfers
// match before another collective comes.
class DeadlockWalk {
 public:
  explicit DeadlockWalk(VerifyContext& context) : context_(context), module_(context.module()) {}

  // False once a deadlock was found.
  bool Visit(InstructionId id) {
    const Opcode opcode = module_[id].opcode;
    if (opcode == kSend) {
      return VisitTransfer(id, sends_, recvs_, State::kExpectRecv, State::kExpectSend, "recv");
    }
    if (opcode == kRecv) {
      return VisitTransfer(id, recvs_, sends_, State::kExpectSend, State::kExpectRecv, "send");
    }
    const bool waits = HasFlag(opcode, kFlagCollective) && !HasFlag(opcode, kFlagStart);
    if (!waits || state_ == State::kIdle) return true;
    return Deadlock(id, "is scheduled while a send or recv waits for its counterpart");
  }

  bool Finish() {
    if (state_ == State::kIdle) return true;
    for (const Transfer& send : sends_) {
      auto match = Find(recvs_, send.pairs);
      if (match == recvs_.end()) return Deadlock(send.id, "has no recv that matches it");
      recvs_.erase(match);
    }
    if (!recvs_.empty()) return Deadlock(recvs_[0].id, "has no send that matches it");
    return true;
  }

 private:
  enum class State { kIdle, kExpectSend, kExpectRecv };

  static std::vector<Transfer>::iterator Find(std::vector<Transfer>& pending,
                                              std::string_view pairs) {
    return std::find_if(pending.begin(), pending.end(),
                        [&](const Transfer& t) { return t.pairs == pairs; });
  }

  bool Deadlock(InstructionId id, std::string_view what) {
    context_.Strict(id, "deadlock", context_.Name(id) + " " + std::string(what));
    return false;
  }

  bool VisitTransfer(InstructionId id, std::vector<Transfer>& own, std::vector<Transfer>& other,
                     State waits_for_other, State waits_for_own, std::string_view wanted) {
    const Instruction& i = module_[id];
    if (module_.GetBool(i, AttributeKey::kIsHostTransfer)) return true;
    if (FrontendAttributeOf(module_, i, kPipelineAttribute)) return true;
    auto text = FrontendAttributeOf(module_, i, kPairsAttribute);
    if (!text) return Deadlock(id, "has no source-target pairs, " + std::string(kPairsAttribute));
    Pairs pairs = ReadPairs(*text);
    if (Conflicts(pairs)) {
      return Deadlock(id, "has source-target pairs with a cycle or a device twice");
    }
    if (state_ == waits_for_own) {
      auto match = Find(other, *text);
      if (match == other.end()) {
        own.push_back({id, *text});
      } else {
        other.erase(match);
        if (other.empty()) state_ = State::kIdle;
      }
      return true;
    }
    if (state_ == waits_for_other && own.size() < kMaxPending) {
      for (const Transfer& pending : own) {
        Pairs joined = ReadPairs(pending.pairs);
        joined.insert(joined.end(), pairs.begin(), pairs.end());
        if (!Conflicts(joined)) continue;
        return Deadlock(id, "is scheduled where a " + std::string(wanted) + " was expected");
      }
    }
    own.push_back({id, *text});
    state_ = waits_for_other;
    return true;
  }

  VerifyContext& context_;
  const Module& module_;
  State state_ = State::kIdle;
  std::vector<Transfer> sends_, recvs_;
};

bool IsGroup(const VerifyContext& context, ComputationId c) {
  const Computation& computation = context.module()[c];
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    InstructionId id(computation.first_instruction + k);
    if (id != computation.root && context.module()[id].opcode != kParameter) return true;
  }
  return false;
}

// The instructions of a computation and of all it calls, in order; each computation once.
bool Walk(VerifyContext& context, ComputationId entry, std::vector<bool>& seen,
          std::vector<ComputationId>& groups) {
  struct Frame {
    ComputationId computation;
    uint32_t next = 0;
    std::vector<ComputationId> callees = {};
  };
  const Module& module = context.module();
  DeadlockWalk walk(context);
  std::vector<Frame> stack{{entry}};
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (!top.callees.empty()) {
      ComputationId callee = top.callees.front();
      top.callees.erase(top.callees.begin());
      if (seen[callee.index]) continue;
      seen[callee.index] = true;
      if (context.IsAsync(callee) && IsGroup(context, callee)) {
        groups.push_back(callee);
      } else {
        stack.push_back({callee});
      }
      continue;
    }
    const Computation& computation = module[top.computation];
    if (top.next == computation.instruction_count) {
      stack.pop_back();
      continue;
    }
    InstructionId id(computation.first_instruction + top.next++);
    context.ForEachCallee(id, [&](ComputationId c) { top.callees.push_back(c); });
    if (top.callees.empty() && !walk.Visit(id)) return false;
  }
  return walk.Finish();
}

}  // namespace

void VerifySchedule(VerifyContext& context) {
  const Module& module = context.module();
  if (!module.header().is_scheduled) return;
  bool transfers = false;
  for (InstructionId id : context.asynchronous()) {
    transfers |= module[id].opcode == kSend || module[id].opcode == kRecv;
  }
  if (!transfers) return;
  std::vector<bool> seen(module.computations().size());
  std::vector<ComputationId> groups{module.entry_id()};
  seen[module.entry_id().index] = true;
  for (size_t g = 0; g < groups.size(); ++g) {
    ComputationId entry = groups[g];
    if (!Walk(context, entry, seen, groups)) return;
  }
}

}  // namespace hloscope::hlo
