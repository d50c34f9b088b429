// PrintText, and what stands around the instructions: header, tables, computations.
#include <algorithm>
#include <iterator>

#include "core/base/progress/activity.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/text/text_printer.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

// By TextFormat.
constexpr PrintOptions kOptions[] = {
    {.lossless = true, .large_constants = true},
    {},
    {.large_constants = true,
     .metadata = false,
     .index_annotations = false,
     .program_shape = false,
     .percent = false,
     .control_predecessors = false},
    {.metadata = false,
     .backend_config = false,
     .operand_shapes = true,
     .index_annotations = false,
     .program_shape = false,
     .percent = false,
     .control_predecessors = false,
     .canonical_names = true,
     .full_bodies = true},
};

// Computations a fusion calls are not part of a schedule.
std::vector<uint8_t> FusionComputations(const Module& module) {
  std::vector<uint8_t> fused(module.computations().size(), 0);
  for (const Instruction& i : module.instructions()) {
    if (i.opcode != Opcode::kFusion) continue;
    ComputationId callee = module.GetComputation(i, AttributeKey::kCalls);
    if (callee.valid()) fused[callee.index] = 1;
  }
  return fused;
}

}  // namespace

const PrintOptions& OptionsOf(TextFormat format) { return kOptions[static_cast<size_t>(format)]; }

void PrintText(const Module& module, TextFormat format, std::string& out) {
  const Activity activity("printing", module.name());
  TextPrinter(module, format, out).PrintModule();
}

void PrintText(const Module& module, ComputationId computation, TextFormat format,
               std::string& out) {
  TextPrinter(module, format, out).PrintComputation(computation);
}

void PrintText(const Module& module, InstructionId instruction, TextFormat format,
               std::string& out) {
  TextPrinter printer(module, format, out);
  printer.KeepNoTexts();
  printer.PrintInstruction(instruction);
}

InstructionPrinter::InstructionPrinter(const Module& module, TextFormat format)
    : printer_(std::make_unique<TextPrinter>(module, format, text_)) {}
InstructionPrinter::~InstructionPrinter() = default;

std::string_view InstructionPrinter::Text(InstructionId id) { return printer_->TextOf(id); }
std::string_view InstructionPrinter::ValueText(const Instruction& instruction,
                                               const Attribute& attribute) {
  return printer_->ValueTextOf(instruction, attribute);
}

TextPrinter::TextPrinter(const Module& module, TextFormat format, std::string& out)
    : module_(module), options_(OptionsOf(format)), sink_(out) {}

const AsyncFacts& TextPrinter::async() {
  if (!async_) {
    async_.emplace(module_);
    if (options_.lossless) async_->KeepLossless();
  }
  return *async_;
}

void TextPrinter::RenumberFrames() {
  if (!options_.lossless && options_.metadata && !frames_) frames_.emplace(module_);
}

std::string_view TextPrinter::TextOf(InstructionId id) {
  sink_.Clear();
  PrintInstruction(id);
  return sink_.From(0);
}

void TextPrinter::PrintModule() {
  ReserveOutput();
  RenumberFrames();
  RenderBodies();
  PrintHeader();
  std::vector<uint8_t> fused = FusionComputations(module_);
  std::vector<uint8_t> started(module_.computations().size(), 0);
  for (InstructionId start : async().starts()) {
    ComputationId wrapped = async().wrapped(start);
    if (async().IsSugared(wrapped)) started[wrapped.index] = 1;
  }
  for (ComputationId id : PrintedComputations()) {
    if (started[id.index] != 0) continue;  // printed as its instruction's -start, -update, -done
    if (id == module_.entry_id()) sink_.Append("ENTRY ");
    PrintSignature(id);
    bool scheduled = module_.header().is_scheduled && fused[id.index] == 0;
    PrintBody(module_[id], OrderOf(id, scheduled));
    PrintThread(id);
    sink_.Append("\n\n");
  }
}

// XLA's own order puts a callee behind its caller now and then, which no reader takes.
std::vector<ComputationId> TextPrinter::PrintedComputations() const {
  if (!options_.lossless) return ComputationPrintOrder(module_, CallLists(module_));
  const auto order = CallGraphOf(module_).callees_first();
  return {order.begin(), order.end()};
}

void TextPrinter::PrintComputation(ComputationId id) {
  RenumberFrames();
  RenderBodies();
  PrintSignature(id);
  PrintBody(module_[id], OrderOf(id, module_.header().is_scheduled));
  PrintThread(id);
}

// A first guess at the size of the text, so that it seldom moves.
void TextPrinter::ReserveOutput() {
  sink_.Reserve(module_.instructions().size() * 96 + module_.computations().size() * 128 + 1024);
}

std::span<const InstructionId> TextPrinter::OrderOf(ComputationId id, bool scheduled) {
  if (!order_) order_.emplace(module_);
  const Computation& computation = module_[id];
  return scheduled ? order_->FileOrder(computation) : order_->PostOrder(computation);
}

void TextPrinter::PrintSignature(ComputationId id) {
  const Computation& computation = module_[id];
  PrintName(module_[computation.name]);
  sink_.Append(' ');
  if (!options_.program_shape) return;
  sink_.Append('(');
  bool first = true;
  for (InstructionId parameter : module_.Parameters(id)) {
    if (!parameter.valid()) continue;
    if (!first) sink_.Append(", ");
    first = false;
    sink_.Append(module_.name(parameter));
    sink_.Append(": ");
    sink_.Append(ShapeText(module_[parameter].shape, false));
  }
  sink_.Append(") -> ");
  sink_.Append(ShapeText(module_[computation.root].shape, false));
  sink_.Append(' ');
}

void TextPrinter::PrintBody(const Computation& computation, std::span<const InstructionId> order) {
  if (options_.canonical_names) {
    canonical_.resize(module_.instructions().size(), kNone);
    auto begin = canonical_.begin() + computation.first_instruction;
    std::fill(begin, begin + computation.instruction_count, kNone);
    next_canonical_ = 0;
  }
  in_computation_ = true;
  BeginLine();
  sink_.Append("{\n");
  for (InstructionId id : order) {
    BeginLine();
    sink_.Append("  ");
    if (id == computation.root) sink_.Append("ROOT ");
    PrintInstruction(id);
    sink_.Append('\n');
  }
  BeginLine();
  sink_.Append('}');
  in_computation_ = false;
}

void TextPrinter::PrintThread(ComputationId id) {
  std::string_view thread = module_[async().thread(id)];
  if (thread.empty() || thread == "main") return;
  sink_.Append(", execution_thread=");
  PrintQuoted(thread);
}

// Makes the texts of called computations, callees before callers, so that nothing has to recurse.
void TextPrinter::RenderBodies() {
  if (!options_.full_bodies || !bodies_.empty()) return;
  bodies_.resize(module_.computations().size());
  CallLists calls(module_);
  std::vector<uint8_t> called(bodies_.size(), 0);
  for (uint32_t c = 0; c < bodies_.size(); ++c) {
    for (const CallLists::Call& call : calls.calls(c)) called[call.callee] = 1;
  }
  rendering_bodies_ = true;
  for (ComputationId id : CallGraphOf(module_).callees_first()) {
    if (called[id.index] == 0) continue;
    size_t start = sink_.size();
    PrintBody(module_[id], OrderOf(id, false));
    PrintThread(id);
    bodies_[id.index] = sink_.TakeFrom(start);
  }
  rendering_bodies_ = false;
}

// Prints a body two columns further in. Its lines begin with kLineStart, others are inside values.
void TextPrinter::PrintIndented(std::string_view body) {
  body_budget_ -= body.size();
  while (!body.empty()) {
    size_t end = std::min(body.find(kLineStart, 1), body.size());
    if (body[0] == kLineStart) {
      if (rendering_bodies_) sink_.Append(kLineStart);
      sink_.Append("  ");
      sink_.Append(body.substr(1, end - 1));
    } else {
      sink_.Append(body.substr(0, end));
    }
    body.remove_prefix(end);
  }
}

}  // namespace hloscope::hlo
