// Running the instructions of a module one by one, many of them beside one another.
#include "core/debug/run/isolate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/debug/pieces/pieces.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/single_precision.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/sharding/manual_region.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;

namespace {

using Leaves = std::vector<Result<Literal>>;

constexpr size_t kMaxPieces = 64;                  // of one module
constexpr int64_t kMaxBytes = int64_t{256} << 20;  // that its parameters take
constexpr int64_t kTimedRuns = 5;                  // of an instruction alone
constexpr int64_t kDeepest = 16;                   // to which pieces grow
// All pieces that are grown together have no more instructions than that many times the entry.
constexpr size_t kMaxGrown = 16, kMinGrown = 2048;

class Collector : public replay::RunStream {
 public:
  void Take(replay::RunEvent event) override {
    auto* result = std::get_if<replay::LeafResult>(&event);
    if (result == nullptr) return;
    const auto at = static_cast<size_t>(result->leaf);
    leaves.resize(std::max(leaves.size(), at + 1), InternalError("a result is missing"));
    leaves[at] = std::move(result->value);
  }
  Leaves leaves;
};

int64_t BytesOf(const hlo::Shape& shape) { return shape.ByteSize().value_or(0); }

Leaves AllMissing(size_t count, const Error& error) {
  return Leaves(count, std::unexpected(error));
}

template <typename Elements>
Elements Part(const Elements& of, size_t first, size_t count) {
  const auto begin = of.begin() + static_cast<ptrdiff_t>(first);
  return Elements(begin, begin + static_cast<ptrdiff_t>(count));
}

}  // namespace

class Isolation::Runner {
 public:
  Runner(const Module& module, IsolateRequest request)
      : module_(module),
        request_(std::move(request)),
        first_(module.entry().first_instruction),
        count_(module.entry().instruction_count),
        own_(hlo::OwnValues(module)),
        values_(count_),
        last_use_(count_, 0) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      bytes += BytesOf(module.shape(InstructionId(first_ + i)));
      for (InstructionId operand : module.operands(InstructionId(first_ + i))) {
        last_use_[operand.index - first_] = std::max(last_use_[operand.index - first_], i);
      }
    }
    // The operands of a pair's start are needed until its done, those of a manual region until what
    // leaves it.
    for (uint32_t i = count_; i-- > 0;) {
      const InstructionId id(first_ + i);
      if (!RunsWithItsDone(module[id].opcode) && !own_[id.index]) continue;
      for (InstructionId operand : module.operands(id)) {
        uint32_t& last = last_use_[operand.index - first_];
        last = std::max(last, last_use_[i]);
      }
    }
    keeps_all_ = bytes <= request_.keep_bytes;
  }

  Status Run(std::span<const Literal> arguments,
             const std::function<void(const InstructionReport&)>& on_instruction) {
    arguments_ = arguments;
    int64_t total = 0, done = 0;
    for (uint32_t i = 0; i < count_; ++i) total += Computes(i) ? 1 : 0;
    for (uint32_t begin = 0; begin < count_;) {
      if (request_.on_progress) request_.on_progress({"instructions alone", done, total});
      const uint32_t end = EndOfWindow(begin);
      for (uint32_t i = begin; i < end; ++i) done += Computes(i) ? 1 : 0;
      TakeArguments(begin, end);
      HLOSCOPE_TRY(Evaluate(begin, end));
      HLOSCOPE_TRY(RunWindow(begin, end, on_instruction));
      if (!keeps_all_) Free(begin, end, last_use_);
      begin = end;
    }
    return {};
  }

  // Unsupported error: all pieces together grew to many times the module, or some could not be
  // tried because values of theirs were not kept.
  Result<std::optional<InstructionReport>> Grow() {
    if (request_.reference == nullptr) return std::nullopt;
    left_to_grow_ = std::max(kMaxGrown * count_, kMinGrown);
    for (int64_t depth = 1; depth <= kDeepest && left_to_grow_ > 0; depth *= 2) {
      if (request_.on_progress) {
        request_.on_progress({"levels of operands with each instruction", depth, kDeepest});
      }
      HLOSCOPE_ASSIGN_OR_RETURN(auto found, GrowTo(depth));
      if (found) return Smallest(*std::move(found), depth);
      if (!grew_ && !lacks_values_) return std::nullopt;
    }
    if (lacks_values_) {
      return UnsupportedError(fmt::format(
          "values of some take more than the {} bytes that are kept", request_.keep_bytes));
    }
    if (left_to_grow_ == 0) return UnsupportedError("their parts are many times the module");
    return std::nullopt;
  }

 private:
  struct Job {
    Piece piece;
    Leaves actual = {};
    std::vector<bool> are_single = {};  // by leaf: of f64, and rounded to f32 or less within
    double run_us = 0;
  };
  // What all pieces together gave.
  struct Joint {
    Leaves leaves;
    std::vector<bool> are_single;
    double run_us = 0;
  };

  Leaves& ValueOf(InstructionId id) { return values_[id.index - first_]; }
  const Leaves& ValueOf(InstructionId id) const { return values_[id.index - first_]; }

  bool Computes(uint32_t position) const {
    const InstructionId id(first_ + position);
    const Opcode opcode = module_[id].opcode;
    if (own_[id.index] || module_.shape(id).LeafCount() == 0) return false;
    return opcode != Opcode::kParameter && opcode != Opcode::kConstant && !ForwardsOperand(opcode);
  }

  uint32_t EndOfWindow(uint32_t begin) const {
    int64_t bytes = 0;
    size_t pieces = 0;
    uint32_t end = begin;
    for (; end < count_ && pieces < kMaxPieces && (bytes < kMaxBytes || end == begin); ++end) {
      if (!Computes(end)) continue;
      ++pieces;
      bytes += BytesOf(module_.shape(InstructionId(first_ + end)));
      for (InstructionId operand : module_.operands(InstructionId(first_ + end))) {
        bytes += BytesOf(module_.shape(operand));
      }
    }
    return end;
  }

  void Free(uint32_t begin, uint32_t end, std::span<const uint32_t> last_use) {
    for (uint32_t i = 0; i < end; ++i) {
      if (last_use[i] < end && (last_use[i] >= begin || i >= begin)) values_[i] = Leaves();
    }
  }

  // By position, of the last instruction whose piece of that depth takes the value.
  std::vector<uint32_t> LastUses(int64_t depth) const {
    std::vector<uint32_t> last = last_use_;
    for (int64_t level = 0; level <= depth; ++level) {
      std::vector<uint32_t> next = last_use_;
      for (uint32_t i = count_; i-- > 0;) {
        const InstructionId id(first_ + i);
        // What only forwards is no level.
        const bool is_level = !ForwardsOperand(module_[id].opcode) && !own_[id.index];
        const uint32_t of_user = is_level ? last[i] : next[i];
        for (const InstructionId operand : module_.operands(id)) {
          uint32_t& at = next[operand.index - first_];
          at = std::max(at, of_user);
        }
      }
      last = std::move(next);
    }
    return last;
  }

  // Where more is alive than may be kept, what is not needed to go on goes first.
  void FreeForDepth(uint32_t begin, uint32_t end, std::span<const uint32_t> last_use) {
    Free(begin, end, last_use);
    int64_t alive = 0;
    for (uint32_t i = 0; i < end; ++i) {
      if (!values_[i].empty()) alive += BytesOf(module_.shape(InstructionId(first_ + i)));
    }
    for (uint32_t i = 0; i < end && alive > request_.keep_bytes; ++i) {
      if (values_[i].empty() || last_use_[i] >= end) continue;
      alive -= BytesOf(module_.shape(InstructionId(first_ + i)));
      values_[i] = Leaves();
    }
  }

  void TakeArguments(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      const InstructionId id(first_ + i);
      if (module_[id].opcode != Opcode::kParameter) continue;
      const auto number =
          static_cast<size_t>(module_.GetInt(module_[id], AttributeKey::kParameterNumber));
      ValueOf(id).clear();
      for (Literal& leaf : dump::FlattenLiteral(arguments_[number])) ValueOf(id).push_back(leaf);
    }
  }

  // The values of tuples and their elements, from those of what they are made of.
  void HandOn(InstructionId id) {
    const Opcode opcode = module_[id].opcode;
    if (opcode == Opcode::kTuple) {
      ValueOf(id).clear();
      for (InstructionId operand : module_.operands(id)) {
        const Leaves& part = ValueOf(operand);
        ValueOf(id).insert(ValueOf(id).end(), part.begin(), part.end());
      }
    } else if (opcode == Opcode::kGetTupleElement) {
      ValueOf(id) = ElementOf(id);
    }
  }

  Leaves ElementOf(InstructionId id) const {
    const InstructionId tuple = module_.operands(id)[0];
    const auto index = static_cast<size_t>(module_.GetInt(module_[id], AttributeKey::kIndex));
    const auto [begin, end] = module_.shape(tuple).ElementLeaves(index);
    const Leaves& all = ValueOf(tuple);
    if (end > all.size()) return AllMissing(end - begin, Error{});
    return {all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end)};
  }

  // A death loses one instruction, unless it was for lack of time or on request.
  bool EndsTheRun(const Error& error) const {
    if (!IsExecutionFailure(error.error_class)) return false;
    const auto& deadline = request_.options.budget.deadline;
    return request_.options.budget.stop.stop_requested() ||
           (deadline && std::chrono::steady_clock::now() >= *deadline);
  }

  // The inputs of a piece, or the error of the first that has no value.
  Status AddInputs(const Piece& piece, std::vector<Literal>& inputs) const {
    for (InstructionId id : piece.frontier) {
      if (module_.shape(id).IsToken()) continue;
      if (ValueOf(id).size() != module_.shape(id).LeafCount())
        return UnsupportedError(fmt::format("the value of {} is not kept", module_.name(id)));
      for (const Result<Literal>& leaf : ValueOf(id)) {
        if (!leaf.has_value()) {
          return UnsupportedError(fmt::format("its operand {} has no value: {}", module_.name(id),
                                              leaf.error().message));
        }
        inputs.push_back(*leaf);
      }
    }
    return {};
  }

  // All pieces as one module on a platform; the error of that module, whatever it is.
  Result<Joint> RunJoined(replay::Platform& platform, const replay::RunOptions& options,
                          std::span<const Piece> pieces) const {
    std::vector<Literal> inputs;
    for (const Piece& piece : pieces) HLOSCOPE_TRY(AddInputs(piece, inputs));
    const JoinedPieces joined = JoinPieces(module_, pieces, PieceDevices::kIfNeeded);
    HLOSCOPE_ASSIGN_OR_RETURN(const auto executable, platform.Load(joined.module, options));
    Collector collector;
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::RunResult run,
                              executable->Run({&inputs, 1}, options, collector));
    size_t expected = 0;
    for (const Piece& piece : pieces) {
      for (InstructionId id : piece.results) expected += module_.shape(id).LeafCount();
    }
    collector.leaves.resize(expected, InternalError("a result is missing"));
    // The pieces' parameters are exact, as both sides get the same.
    const hlo::SinglePrecision single(*joined.module);
    std::vector<bool> are_single;
    for (size_t leaf = 0; leaf < expected; ++leaf) {
      are_single.push_back(single.Of(joined.module->entry().root, leaf));
    }
    return Joint{std::move(collector.leaves), std::move(are_single), run.run_us};
  }

  // The values of a window, connected, from the side that says what is right; where that fails as a
  // whole, in halves.
  Status Evaluate(uint32_t begin, uint32_t end) {
    std::vector<InstructionId> results;
    for (uint32_t i = begin; i < end; ++i) {
      const InstructionId id(first_ + i);
      const bool constant = module_[id].opcode == Opcode::kConstant && !own_[id.index];
      if (Computes(i) || constant) results.push_back(id);
    }
    if (results.empty()) {
      for (uint32_t i = begin; i < end; ++i) HandOn(InstructionId(first_ + i));
      return {};
    }
    const Piece piece = CutRange(module_, InstructionId(first_ + begin),
                                 InstructionId(first_ + end), results, own_);
    const bool referred = request_.reference != nullptr;
    const Result<Joint> ran =
        RunJoined(referred ? *request_.reference : *request_.platform,
                  referred ? request_.reference_options : request_.options, std::span(&piece, 1));
    if (!ran.has_value() && EndsTheRun(ran.error())) return std::unexpected(ran.error());
    if (!ran.has_value() && end - begin > 1) {
      HLOSCOPE_TRY(Evaluate(begin, begin + (end - begin) / 2));
      return Evaluate(begin + (end - begin) / 2, end);
    }
    size_t next = 0;
    for (InstructionId id : results) {
      const size_t own = module_.shape(id).LeafCount();
      ValueOf(id) = ran.has_value() ? Part(ran->leaves, next, own) : AllMissing(own, ran.error());
      next += own;
    }
    for (uint32_t i = begin; i < end; ++i) HandOn(InstructionId(first_ + i));
    return {};
  }

  // The results of every job on the platform under test, in halves where they fail together.
  Status RunJobs(std::span<Job> jobs) {
    if (jobs.empty()) return {};
    std::vector<Piece> pieces;
    for (const Job& job : jobs) pieces.push_back(job.piece);
    const Result<Joint> ran = RunJoined(*request_.platform, request_.options, pieces);
    if (!ran.has_value() && EndsTheRun(ran.error())) return std::unexpected(ran.error());
    if (!ran.has_value() && jobs.size() > 1) {
      HLOSCOPE_TRY(RunJobs(jobs.first(jobs.size() / 2)));
      return RunJobs(jobs.subspan(jobs.size() / 2));
    }
    size_t next = 0;
    for (Job& job : jobs) {
      const size_t own = module_.shape(job.piece.results[0]).LeafCount();
      job.run_us = ran.has_value() ? ran->run_us : 0;
      job.actual = ran.has_value() ? Part(ran->leaves, next, own) : AllMissing(own, ran.error());
      job.are_single = ran.has_value() ? Part(ran->are_single, next, own) : std::vector<bool>(own);
      next += own;
    }
    return {};
  }

  Status RunWindow(uint32_t begin, uint32_t end,
                   const std::function<void(const InstructionReport&)>& on_instruction) {
    if (request_.reference == nullptr) return DescribeWindow(begin, end, on_instruction);
    std::vector<Job> jobs;
    std::vector<std::optional<Error>> refused(end - begin);
    for (uint32_t i = begin; i < end; ++i) {
      if (!Computes(i)) continue;
      Job job{CutPiece(module_, InstructionId(first_ + i), 0, own_)};
      std::vector<Literal> untold;
      const Status inputs = AddInputs(job.piece, untold);
      if (!inputs.has_value()) refused[i - begin] = inputs.error();
      if (inputs.has_value()) jobs.push_back(std::move(job));
    }
    HLOSCOPE_TRY(RunJobs(jobs));
    size_t next = 0;
    for (uint32_t i = begin; i < end; ++i) {
      if (!Computes(i)) continue;
      InstructionReport report = Blank(InstructionId(first_ + i));
      if (refused[i - begin]) {
        report.error = refused[i - begin];
      } else {
        NameOthers(jobs[next].piece, /*only_own=*/true, report);
        HLOSCOPE_TRY(Judge(jobs[next++], report));
      }
      HLOSCOPE_TRY(TimeAlone(InstructionId(first_ + i), report));
      on_instruction(report);
    }
    return {};
  }

  // Compares; what differs beside others has to differ alone too, on both sides.
  Status Judge(Job& job, InstructionReport& report) {
    const InstructionId id = job.piece.results[0];
    Compare(job, ValueOf(id), report);
    if (!report.differs()) return {};
    HLOSCOPE_TRY(RunJobs({&job, 1}));
    const Result<Joint> expected =
        RunJoined(*request_.reference, request_.reference_options, std::span(&job.piece, 1));
    if (!expected.has_value() && EndsTheRun(expected.error())) {
      return std::unexpected(expected.error());
    }
    report.outputs.clear();
    report.compared = false;
    Compare(job, expected.has_value() ? expected->leaves : ValueOf(id), report);
    return {};
  }

  void Compare(const Job& job, const Leaves& expected, InstructionReport& report) const {
    report.run_us = job.run_us;
    for (const Leaves* side : {&job.actual, &expected}) {
      for (const Result<Literal>& leaf : *side) {
        if (!leaf.has_value() && !report.error) report.error = leaf.error();
      }
    }
    if (report.error) return;
    report.compared = true;
    if (request_.statistics) {
      report.actual_statistics = Describe(job.actual);
      report.expected_statistics = Describe(expected);
    }
    const auto shapes = module_.shape(job.piece.results[0]).Leaves();
    for (size_t i = 0; i < std::min({job.actual.size(), expected.size(), shapes.size()}); ++i) {
      LeafComparison leaf =
          CompareArrays(*job.actual[i], *expected[i],
                        job.are_single[i] ? BoundsOfSingle(request_.bounds) : request_.bounds);
      leaf.index = shapes[i].first;
      report.outputs.push_back(std::move(leaf));
    }
  }

  // What runs in a piece with its result; only_own: of manual regions alone.
  void NameOthers(const Piece& piece, bool only_own, InstructionReport& report) const {
    for (const InstructionId id : piece.taken) {
      const Opcode opcode = module_[id].opcode;
      const bool computes = opcode != Opcode::kConstant && !ForwardsOperand(opcode);
      if (!computes || id == piece.results[0] || (only_own && !own_[id.index])) continue;
      report.together_with.emplace_back(module_.name(id));
    }
  }

  static std::vector<replay::ValueStatistics> Describe(const Leaves& leaves) {
    std::vector<replay::ValueStatistics> all;
    for (const Result<Literal>& leaf : leaves) {
      all.push_back(leaf.has_value() ? replay::StatisticsOf(*leaf) : replay::ValueStatistics());
    }
    return all;
  }

  InstructionReport Blank(InstructionId id) const {
    InstructionReport report;
    report.instruction = module_.name(id);
    report.computation = module_[module_.entry().name];
    report.opcode = hlo::ToString(module_[id].opcode);
    report.source = ToString(hlo::SourceLineOf(module_, id));
    return report;
  }

  Status DescribeWindow(uint32_t begin, uint32_t end,
                        const std::function<void(const InstructionReport&)>& on_instruction) {
    for (uint32_t i = begin; i < end; ++i) {
      if (!Computes(i)) continue;
      const InstructionId id(first_ + i);
      InstructionReport report = Blank(id);
      for (const Result<Literal>& leaf : ValueOf(id)) {
        if (!leaf.has_value() && !report.error) report.error = leaf.error();
      }
      if (request_.statistics) report.actual_statistics = Describe(ValueOf(id));
      for (const auto& [index, shape] : module_.shape(id).Leaves()) {
        LeafComparison leaf;
        leaf.index = index;
        leaf.shape = *shape;
        leaf.elements = shape->ElementCount().value_or(0);
        report.outputs.push_back(std::move(leaf));
      }
      HLOSCOPE_TRY(TimeAlone(id, report));
      on_instruction(report);
    }
    return {};
  }

  // What does not run alone has no such time.
  Status TimeAlone(InstructionId id, InstructionReport& report) const {
    if (!request_.time_alone || report.error) return {};
    const Piece piece = CutPiece(module_, id, 0, own_);
    std::vector<Literal> inputs;
    if (!AddInputs(piece, inputs).has_value()) return {};
    const JoinedPieces joined = JoinPieces(module_, std::span(&piece, 1), PieceDevices::kIfNeeded);
    const auto executable = request_.platform->Load(joined.module, request_.options);
    if (!executable.has_value()) {
      return EndsTheRun(executable.error()) ? std::unexpected(executable.error()) : Status();
    }
    for (int64_t i = 0; i < kTimedRuns; ++i) {
      Collector collector;
      const auto run = (*executable)->Run({&inputs, 1}, request_.options, collector);
      if (!run.has_value()) {
        report.alone_us.reset();
        return EndsTheRun(run.error()) ? std::unexpected(run.error()) : Status();
      }
      report.alone_us = std::min(report.alone_us.value_or(run->run_us), run->run_us);
    }
    return {};
  }

  // Of the instruction whose piece of this depth differs, and that of half of it does not, the
  // smallest that does.
  Result<InstructionReport> Smallest(InstructionReport found, int64_t depth) {
    const InstructionId id = hlo::FindInstruction(module_, found.instruction);
    for (int64_t less = depth / 2 + 1; less < depth; ++less) {
      std::vector<Job> jobs;
      jobs.push_back({.piece = CutPiece(module_, id, less, own_)});
      std::vector<Literal> untold;
      if (!AddInputs(jobs[0].piece, untold).has_value()) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(auto smaller, FirstDifferent(jobs));
      if (smaller) return *std::move(smaller);
    }
    return found;
  }

  // The first piece of this depth that differs. Values that were not kept are computed once more.
  Result<std::optional<InstructionReport>> GrowTo(int64_t depth) {
    grew_ = false;
    if (keeps_all_) return GrowIn(0, count_, depth);
    const std::vector<uint32_t> last_use = LastUses(depth);
    std::ranges::fill(values_, Leaves());
    for (uint32_t begin = 0; begin < count_ && left_to_grow_ > 0;) {
      const uint32_t end = EndOfWindow(begin);
      TakeArguments(begin, end);
      HLOSCOPE_TRY(Evaluate(begin, end));
      HLOSCOPE_ASSIGN_OR_RETURN(auto found, GrowIn(begin, end, depth));
      if (found) return found;
      FreeForDepth(begin, end, last_use);
      begin = end;
    }
    return std::nullopt;
  }

  // Of the instructions at [begin, last).
  Result<std::optional<InstructionReport>> GrowIn(uint32_t begin, uint32_t last, int64_t depth) {
    std::vector<Job> jobs;
    int64_t bytes = 0;
    for (uint32_t i = begin; i <= last; ++i) {
      const bool is_full = jobs.size() >= kMaxPieces || bytes >= kMaxBytes;
      if (i == last || is_full || left_to_grow_ == 0) {
        HLOSCOPE_ASSIGN_OR_RETURN(auto found, FirstDifferent(jobs));
        if (found) return found;
        jobs.clear();
        bytes = 0;
      }
      if (left_to_grow_ == 0) break;
      if (i == last || !Computes(i)) continue;
      const InstructionId id(first_ + i);
      Job job{CutPiece(module_, id, depth, own_)};
      if (job.piece.taken.size() == CutPiece(module_, id, depth / 2, own_).taken.size()) continue;
      std::vector<Literal> untold;
      if (!AddInputs(job.piece, untold).has_value()) {
        lacks_values_ |= !keeps_all_ && LacksKept(job.piece);
        continue;
      }
      for (InstructionId taken : job.piece.taken) bytes += BytesOf(module_.shape(taken));
      for (InstructionId outside : job.piece.frontier) bytes += BytesOf(module_.shape(outside));
      grew_ = true;
      left_to_grow_ -= std::min(left_to_grow_, job.piece.taken.size());
      jobs.push_back(std::move(job));
    }
    return std::nullopt;
  }

  bool LacksKept(const Piece& piece) const {
    return std::ranges::any_of(piece.frontier, [&](InstructionId id) {
      return !module_.shape(id).IsToken() && ValueOf(id).size() != module_.shape(id).LeafCount();
    });
  }

  Result<std::optional<InstructionReport>> FirstDifferent(std::vector<Job>& jobs) {
    HLOSCOPE_TRY(RunJobs(jobs));
    for (Job& job : jobs) {
      InstructionReport report = Blank(job.piece.results[0]);
      HLOSCOPE_TRY(Judge(job, report));
      if (!report.differs()) continue;
      report.together_with.clear();
      NameOthers(job.piece, /*only_own=*/false, report);
      return report;
    }
    return std::nullopt;
  }

  const Module& module_;
  IsolateRequest request_;
  uint32_t first_, count_;
  std::vector<bool> own_;  // by instruction: inside a manual region
  std::span<const Literal> arguments_;
  std::vector<Leaves> values_;      // of the entry's instructions, by position
  std::vector<uint32_t> last_use_;  // the position of the last user
  bool keeps_all_ = false;
  bool grew_ = false;          // some piece of this depth is larger than that of the last
  bool lacks_values_ = false;  // some piece needs values that were not kept
  size_t left_to_grow_ = 0;    // instructions
};

bool InstructionReport::differs() const {
  return compared &&
         std::ranges::any_of(outputs, [](const LeafComparison& leaf) { return !leaf.equal(); });
}

Isolation::Isolation(const Module& module, IsolateRequest request)
    : runner_(std::make_unique<Runner>(module, std::move(request))) {}
Isolation::~Isolation() = default;

Status Isolation::Run(std::span<const Literal> arguments,
                      const std::function<void(const InstructionReport&)>& on_instruction) {
  return runner_->Run(arguments, on_instruction);
}

Result<std::optional<InstructionReport>> Isolation::GrowPieces() { return runner_->Grow(); }

}  // namespace hloscope::debug
