// Value numbers and sets of terms, in the order of execution.
#include "core/ptx/trace/doubled_terms.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/fnv.h"
#include "core/base/quick_hash.h"

namespace hloscope::ptx {
namespace {

class TermReader {
 public:
  explicit TermReader(const BlockTrace& trace) : trace_(trace) {
    size_t count = 0;
    for (const ThreadTrace& thread : trace.threads) {
      begins_[static_cast<int32_t>(thread.thread)] = {&thread, count};
      count += thread.steps.size();
    }
    made_.resize(count);
    for (const TracedInstruction& in : trace.instructions) {
      const size_t guard = in.text.starts_with('@') ? in.text.find(' ') + 1 : 0;
      forms_.push_back(FnvOf(
          std::string_view(in.text).substr(guard, in.text.find_first_of(" \t", guard) - guard)));
    }
  }

  std::map<uint32_t, uint32_t> Run(std::span<const StepRef> from) {
    Mark(from);
    std::ranges::sort(order_, {},
                      [&](const StepRef& ref) { return std::pair(StepOf(ref).turn, ref.thread); });
    for (const StepRef& ref : order_) {
      Make(ref);
      if (terms_ > kMaxTerms) return {};
    }
    return std::move(lines_);
  }

 private:
  static constexpr size_t kMaxTerms = 1 << 24;  // of all sums together
  static constexpr uint32_t kMaxSteps = 4;      // back
  static constexpr size_t kMaxMakers = 4;       // of one term that are told
  using Terms = std::vector<uint32_t>;          // ascending

  // What a step makes.
  struct Made {
    bool is_marked = false;
    bool has_doubled = false;  // or comes from such a sum
    uint64_t number = 0;
    int32_t terms = kItself;  // in sets_
  };
  // What is read.
  struct Operand {
    uint64_t number = 0;
    int32_t terms = kNone;
    bool has_doubled = false;
    StepRef from;
  };
  static constexpr int32_t kItself = -1, kNone = -2;

  const TracedStep& StepOf(const StepRef& ref) const {
    return begins_.at(ref.thread).first->at(ref.step);
  }
  const TracedInstruction& InstructionOf(const StepRef& ref) const {
    return trace_.instructions[StepOf(ref).instruction];
  }
  std::span<const TracedValue> ValuesOf(const StepRef& ref) const {
    return trace_.ValuesOf(*begins_.at(ref.thread).first, StepOf(ref));
  }
  Made* Find(const StepRef& ref) {
    const auto at = begins_.find(ref.thread);
    if (at == begins_.end() || !at->second.first->Has(ref.step)) return nullptr;
    return &made_[at->second.second + static_cast<size_t>(ref.step - at->second.first->first)];
  }

  template <typename F>
  void ForNeeds(const StepRef& ref, F f) const {
    const TracedInstruction& in = InstructionOf(ref);
    const auto values = ValuesOf(ref);
    for (size_t i = 0; i < values.size(); ++i) {
      if (!in.operands[i].guard) f(values[i].from);
    }
    for (const TracedAccess& access : begins_.at(ref.thread).first->AccessesOf(StepOf(ref)))
      f(access.from);
  }

  void Mark(std::span<const StepRef> from) {
    const auto mark = [&](const StepRef& ref) {
      Made* const made = Find(ref);
      if (made == nullptr || made->is_marked) return;
      made->is_marked = true;
      order_.push_back(ref);
    };
    for (const StepRef& ref : from) mark(ref);
    for (size_t i = 0; i < order_.size(); ++i) ForNeeds(StepRef(order_[i]), mark);
  }

  // A number that nothing else has.
  uint64_t Unique() { return MixKeys(0x5bd1e995, ++unique_); }

  Operand Read(const StepRef& ref, size_t operand) {
    const TracedValue& value = ValuesOf(ref)[operand];
    if (value.from.thread < 0) return {MixKeys(1, value.bits), kNone, false, {}};
    const Made* const made = Find(value.from);
    if (made == nullptr) return {Unique(), kItself, false, {}};
    Operand read{made->number, made->terms, made->has_doubled, value.from};
    // Of several that one instruction makes.
    const TracedInstruction& maker = InstructionOf(value.from);
    const auto is_made = [](const TracedOperand& o) { return o.written; };
    if (std::ranges::count_if(maker.operands, is_made) > 1) {
      const auto at = std::ranges::find_if(maker.operands, [&](const TracedOperand& o) {
        return o.written && o.name == InstructionOf(ref).operands[operand].name;
      });
      read.number = MixKeys(read.number, static_cast<uint64_t>(at - maker.operands.begin()));
      read.terms = kItself;
    }
    return read;
  }

  // Not its guard, nor what an optional operand leaves out.
  static bool IsRead(const TracedOperand& operand) {
    return !operand.written && !operand.guard && operand.name != "_";
  }

  std::vector<Operand> ReadAll(const StepRef& ref) {
    std::vector<Operand> all;
    const TracedInstruction& in = InstructionOf(ref);
    for (size_t i = 0; i < in.operands.size(); ++i) {
      if (IsRead(in.operands[i])) all.push_back(Read(ref, i));
    }
    return all;
  }

  static void HandOn(const Operand& operand, Made& made) {
    made.number = operand.number;
    made.terms = operand.terms;
  }

  void Make(const StepRef& ref) {
    Made& made = *Find(ref);
    const TracedInstruction& in = InstructionOf(ref);
    std::vector<Operand> read = ReadAll(ref);
    for (const Operand& operand : read) made.has_doubled |= operand.has_doubled;
    const bool is_float = in.type.find('f') != std::string::npos;
    const bool adds = in.opcode == "add" || in.opcode == "max" || in.opcode == "min";
    if (in.opcode == "mov" && read.size() == 1) return HandOn(read[0], made);
    if (in.opcode == "selp" && read.size() == 3)
      return HandOn(read[ValuesOf(ref)[3].bits != 0 ? 0 : 1], made);
    if (in.opcode == "shfl") return Shuffle(ref, made);
    if (in.opcode == "ld") return Load(ref, made);
    if (in.opcode == "st" && read.size() == 2) return HandOn(read[1], made);
    if (IsOfItsOwn(in.opcode, ref)) return void(made.number = Unique());
    if (is_float && adds && read.size() == 2) Add(ref, read[0], read[1], made);
    if (is_float && in.opcode == "fma" && read.size() == 3) {
      const uint64_t a = std::min(read[0].number, read[1].number),
                     b = std::max(read[0].number, read[1].number);
      Add(ref, {MixKeys(MixKeys(2, a), b), kItself, false, ref}, read[2], made);
    }
    if (in.opcode == "add" || in.opcode == "mul" || in.opcode == "max" || in.opcode == "min")
      std::ranges::sort(read, {}, &Operand::number);
    made.number = forms_[StepOf(ref).instruction];
    for (const Operand& operand : read) made.number = MixKeys(made.number, operand.number);
  }

  // What it makes is no function of its operands alone.
  bool IsOfItsOwn(std::string_view opcode, const StepRef& ref) const {
    for (const std::string_view other : {"mma", "wgmma", "vote", "match", "redux", "activemask",
                                         "elect", "atom", "tcgen05", "mbarrier"}) {
      if (opcode == other) return true;
    }
    return StepOf(ref).accesses > 0 && opcode != "st";
  }

  void Shuffle(const StepRef& ref, Made& made) {
    const StepRef peer = ValuesOf(ref)[0].from;
    const bool is_known =
        Find(peer) != nullptr && StepOf(peer).instruction == StepOf(ref).instruction;
    if (!is_known) return void(made.number = Unique());
    const auto& operands = InstructionOf(peer).operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!IsRead(operands[i])) continue;
      const Operand source = Read(peer, i);
      made.has_doubled |= source.has_doubled;
      return HandOn(source, made);
    }
  }

  void Load(const StepRef& ref, Made& made) {
    const auto accesses = begins_.at(ref.thread).first->AccessesOf(StepOf(ref));
    made.number = accesses.empty() ? Unique() : forms_[StepOf(ref).instruction];
    for (const TracedAccess& access : accesses) {
      const Made* const store = Find(access.from);
      if (store == nullptr) {
        const bool is_given =
            access.space == TracedSpace::kArgument || access.space == TracedSpace::kParameters;
        const uint64_t place =
            MixKeys(MixKeys(3 + static_cast<uint64_t>(access.space), access.number), access.offset);
        made.number = MixKeys(made.number, is_given ? place : Unique());
        continue;
      }
      made.has_doubled |= store->has_doubled;
      const auto stored = begins_.at(access.from.thread).first->AccessesOf(StepOf(access.from));
      const auto at = std::ranges::find_if(stored, &TracedAccess::writes);
      const bool is_whole = accesses.size() == 1 && at != stored.end() && stored.size() == 1 &&
                            at->offset == access.offset && at->bytes == access.bytes;
      if (is_whole) return HandOn({store->number, store->terms, false, {}}, made);
      const uint64_t offset = at == stored.end() ? Unique() : access.offset - at->offset;
      made.number = MixKeys(MixKeys(made.number, store->number), offset);
    }
  }

  Terms TermsOf(const Operand& operand) {
    if (operand.terms >= 0) return sets_[static_cast<size_t>(operand.terms)];
    if (operand.terms == kNone) return {};
    const auto [at, is_new] = ids_.try_emplace(operand.number, static_cast<uint32_t>(ids_.size()));
    if (is_new) makers_.emplace_back();
    std::vector<StepRef>& makers = makers_[at->second];
    const bool is_known = std::ranges::any_of(makers, [&](const StepRef& maker) {
      return maker.thread == operand.from.thread && maker.step == operand.from.step;
    });
    if (!is_known && operand.from.thread >= 0 && makers.size() < kMaxMakers)
      makers.push_back(operand.from);
    return {at->second};
  }

  void Add(const StepRef& ref, const Operand& a, const Operand& b, Made& made) {
    const Terms left = TermsOf(a), right = TermsOf(b);
    Terms both, all;
    std::ranges::set_union(left, right, std::back_inserter(all));
    if (!made.has_doubled) std::ranges::set_intersection(left, right, std::back_inserter(both));
    terms_ += all.size();
    made.terms = static_cast<int32_t>(sets_.size());
    sets_.push_back(std::move(all));
    if (both.empty()) return;
    made.has_doubled = true;
    Tell(ref, 0);
    for (const uint32_t term : std::span(both).first(std::min<size_t>(both.size(), kMaxMakers))) {
      if (makers_[term].size() < 2) continue;
      for (const StepRef& maker : makers_[term]) Tell(maker, 1);
    }
  }

  // The line, and those that it comes from.
  void Tell(const StepRef& ref, uint32_t steps) {
    if (Find(ref) == nullptr) return;
    const auto [at, is_new] = lines_.try_emplace(InstructionOf(ref).line, steps);
    at->second = std::min(at->second, steps);
    if (steps == kMaxSteps) return;
    ForNeeds(ref, [&](const StepRef& need) { Tell(need, steps + 1); });
  }

  const BlockTrace& trace_;
  std::map<int32_t, std::pair<const ThreadTrace*, size_t>> begins_;  // by thread: place in made_
  std::vector<Made> made_;                                           // by thread and step
  std::vector<uint64_t> forms_;                                      // by instruction
  std::vector<StepRef> order_;
  std::vector<Terms> sets_;
  std::unordered_map<uint64_t, uint32_t> ids_;  // of terms, by number
  std::vector<std::vector<StepRef>> makers_;    // of terms
  std::map<uint32_t, uint32_t> lines_;
  size_t terms_ = 0;
  uint64_t unique_ = 0;
};

}  // namespace

std::map<uint32_t, uint32_t> LinesOfDoubledTerms(const BlockTrace& trace,
                                                 std::span<const StepRef> from) {
  return TermReader(trace).Run(from);
}

}  // namespace hloscope::ptx
