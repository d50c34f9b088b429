// Running the instructions of a module one by one.
#include "core/debug/isolate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "core/debug/extract.h"
#include "core/dump/tensor_values.h"
#include "core/hlo/source_line.h"

namespace hloscope::debug {
namespace {

using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;

using Leaves = std::vector<Result<Literal>>;

class Collector : public replay::RunSink {
 public:
  void OnResult(int64_t, int64_t leaf, Result<Literal> value) override {
    const auto at = static_cast<size_t>(leaf);
    leaves.resize(std::max(leaves.size(), at + 1), InternalError("a result never came"));
    leaves[at] = std::move(value);
  }
  Leaves leaves;
};

size_t LeafCount(const hlo::Shape& shape) { return shape.Leaves().size(); }

Leaves AllMissing(size_t count, const Error& error) {
  return Leaves(count, std::unexpected(error));
}

bool RunsWithItsDone(Opcode opcode) {
  return hlo::HasFlag(opcode, hlo::kFlagStart) || opcode == Opcode::kAsyncUpdate ||
         opcode == Opcode::kSend || opcode == Opcode::kRecv;
}

class Isolation {
 public:
  Isolation(const Module& module, const IsolateRequest& request)
      : module_(module),
        request_(request),
        first_(module.entry().first_instruction),
        values_(module.entry().instruction_count),
        last_use_(module.entry().instruction_count, 0) {
    for (uint32_t i = 0; i < last_use_.size(); ++i) {
      for (InstructionId operand : module.operands(InstructionId(first_ + i))) {
        last_use_[operand.index - first_] = i;
      }
    }
  }

  Status Run(std::span<const Literal> arguments,
             const std::function<void(const InstructionReport&)>& on_instruction) {
    for (uint32_t i = 0; i < values_.size(); ++i) {
      const InstructionId id(first_ + i);
      if (!HandsOn(id, arguments)) {
        HLOSCOPE_ASSIGN_OR_RETURN(const InstructionReport report, RunOne(id));
        if (module_[id].opcode != Opcode::kConstant) on_instruction(report);
      }
      Free(i);
    }
    return {};
  }

 private:
  Leaves& ValueOf(InstructionId id) { return values_[id.index - first_]; }

  // Values nobody needs any more; the operands of a pair's start live until its done.
  void Free(uint32_t at) {
    for (InstructionId operand : module_.operands(InstructionId(first_ + at))) {
      const uint32_t position = operand.index - first_;
      if (last_use_[position] <= at && !kept_for_pair_.contains(position)) {
        values_[position] = Leaves();
      }
    }
    if (last_use_[at] <= at) values_[at] = Leaves();  // nobody uses it at all
  }

  // What is no computation: its value is made here.
  bool HandsOn(InstructionId id, std::span<const Literal> arguments) {
    const hlo::Instruction& instruction = module_[id];
    switch (instruction.opcode) {
      case Opcode::kParameter: {
        const int64_t number = module_.GetInt(instruction, hlo::AttributeKey::kParameterNumber);
        const Literal& argument = arguments[static_cast<size_t>(number)];
        for (Literal& leaf : dump::FlattenLiteral(argument)) ValueOf(id).push_back(leaf);
        return true;
      }
      case Opcode::kTuple:
        for (InstructionId operand : module_.operands(id)) {
          const Leaves& part = ValueOf(operand);
          ValueOf(id).insert(ValueOf(id).end(), part.begin(), part.end());
        }
        return true;
      case Opcode::kGetTupleElement:
        ValueOf(id) = ElementOf(id);
        return true;
      default:
        if (!RunsWithItsDone(instruction.opcode)) return false;
        for (InstructionId operand : module_.operands(id)) {
          kept_for_pair_.insert(operand.index - first_);
        }
        return true;
    }
  }

  Leaves ElementOf(InstructionId id) {
    const InstructionId tuple = module_.operands(id)[0];
    const auto shapes = module_.shape(tuple).elements();
    const auto index = static_cast<size_t>(module_.GetInt(module_[id], hlo::AttributeKey::kIndex));
    size_t begin = 0;
    for (size_t i = 0; i < index; ++i) begin += LeafCount(shapes[i]);
    const size_t end = begin + LeafCount(shapes[index]);
    const Leaves& all = ValueOf(tuple);
    if (end > all.size()) return AllMissing(end - begin, Error{});
    return {all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end)};
  }

  // The inputs of the module cut out, or the error of the first that has no value.
  Result<std::vector<Literal>> InputsOf(std::span<const InstructionId> parameters) {
    std::vector<Literal> inputs;
    for (InstructionId parameter : parameters) {
      for (const Result<Literal>& leaf : ValueOf(parameter)) {
        if (!leaf.has_value()) {
          return UnsupportedError(fmt::format("its operand {} has no value: {}",
                                              module_.name(parameter), leaf.error().message));
        }
        inputs.push_back(*leaf);
      }
    }
    return inputs;
  }

  // A death loses one instruction, unless it was for lack of time or on request.
  bool EndsTheRun(const Error& error) const {
    if (error.error_class != ErrorClass::kDied) return false;
    const auto& deadline = request_.run.deadline;
    return request_.stop.stop_requested() ||
           (deadline && std::chrono::steady_clock::now() >= *deadline);
  }

  Result<Leaves> RunOn(replay::Platform& platform, const ExtractedModule& cut,
                       const std::vector<Literal>& inputs, size_t leaves, double& run_us) {
    auto executable = platform.Load(cut.module, request_.load);
    if (!executable.has_value() && EndsTheRun(executable.error())) {
      return std::unexpected(executable.error());
    }
    if (!executable.has_value()) return AllMissing(leaves, executable.error());
    Collector sink;
    const auto run = (*executable)->Run({&inputs, 1}, request_.run, sink, request_.stop);
    if (!run.has_value() && EndsTheRun(run.error())) return std::unexpected(run.error());
    if (!run.has_value()) return AllMissing(leaves, run.error());
    run_us = run->run_us;
    return std::move(sink.leaves);
  }

  Result<InstructionReport> RunOne(InstructionId id) {
    InstructionReport report;
    report.instruction = module_.name(id);
    report.computation = module_[module_.entry().name];
    report.opcode = hlo::ToString(module_[id].opcode);
    report.source = hlo::SourceLineOf(module_, module_[id]);
    const size_t leaves = LeafCount(module_.shape(id));
    const auto fail = [&](Error error) {
      ValueOf(id) = AllMissing(leaves, error);
      report.error = std::move(error);
      return report;
    };
    const Result<ExtractedModule> cut = ExtractModule(module_, id, 0);
    if (!cut.has_value()) return fail(cut.error());
    const Result<std::vector<Literal>> inputs = InputsOf(cut->parameters);
    if (!inputs.has_value()) return fail(inputs.error());
    HLOSCOPE_ASSIGN_OR_RETURN(Leaves actual,
                              RunOn(*request_.platform, *cut, *inputs, leaves, report.run_us));
    NoteMissing(actual, report);
    if (request_.reference == nullptr) {
      Describe(id, actual, report);
      ValueOf(id) = std::move(actual);
      return report;
    }
    double untold = 0;
    HLOSCOPE_ASSIGN_OR_RETURN(Leaves expected,
                              RunOn(*request_.reference, *cut, *inputs, leaves, untold));
    NoteMissing(expected, report);
    if (!report.error) Compare(id, actual, expected, report);
    ValueOf(id) = std::move(expected);
    return report;
  }

  static void NoteMissing(const Leaves& leaves, InstructionReport& report) {
    for (const Result<Literal>& leaf : leaves) {
      if (!leaf.has_value() && !report.error) report.error = leaf.error();
    }
  }

  void Describe(InstructionId id, const Leaves& leaves, InstructionReport& report) const {
    const auto shapes = module_.shape(id).Leaves();
    for (size_t i = 0; i < std::min(leaves.size(), shapes.size()); ++i) {
      LeafComparison leaf;
      leaf.index = shapes[i].first;
      leaf.shape = *shapes[i].second;
      leaf.elements = leaf.shape.ElementCount().value_or(0);
      report.outputs.push_back(std::move(leaf));
    }
  }

  void Compare(InstructionId id, const Leaves& actual, const Leaves& expected,
               InstructionReport& report) const {
    const auto shapes = module_.shape(id).Leaves();
    report.compared = true;
    for (size_t i = 0; i < std::min({actual.size(), expected.size(), shapes.size()}); ++i) {
      LeafComparison leaf = CompareArrays(*actual[i], *expected[i], request_.bounds);
      leaf.index = shapes[i].first;
      report.outputs.push_back(std::move(leaf));
    }
  }

  const Module& module_;
  const IsolateRequest& request_;
  uint32_t first_;
  std::vector<Leaves> values_;      // of the entry's instructions, until their last use
  std::vector<uint32_t> last_use_;  // by position: the position of the last user
  std::set<uint32_t> kept_for_pair_;
};

}  // namespace

bool InstructionReport::differs() const {
  return compared &&
         std::ranges::any_of(outputs, [](const LeafComparison& leaf) { return !leaf.equal(); });
}

Status Isolate(const Module& module, std::span<const Literal> arguments,
               const IsolateRequest& request,
               const std::function<void(const InstructionReport&)>& on_instruction) {
  return Isolation(module, request).Run(arguments, on_instruction);
}

}  // namespace hloscope::debug
