// TextPrinter: prints a module as HLO text. Internal to the print_*.cc files; the public functions
// are PrintText (text.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/module.h"
#include "core/hlo/text/print_order.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/text_sink.h"
#include "core/hlo/text/used_frames.h"

namespace hloscope::hlo {

// What a format prints, by the names of XLA's HloPrintOptions; the defaults are
// those of XLA's own prints.
struct PrintOptions {
  bool lossless = false;         // kHlo: what XLA would drop, default or round is kept
  bool large_constants = false;  // constants of more than 10 elements
  bool metadata = true;          // metadata, also inside shardings, and stack-frame tables
  bool backend_config = true;
  bool operand_shapes = false;
  bool index_annotations = true;  // /*index=5*/
  bool program_shape = true;
  bool percent = true;
  bool control_predecessors = true;
  bool canonical_names = false;  // tmp_0, tmp_1, …
  bool full_bodies = false;      // called computations are printed where they are called
};
const PrintOptions& OptionsOf(TextFormat format);

// Facts about the asynchronous instructions of a module.
class AsyncFacts {
 public:
  explicit AsyncFacts(const Module& module);
  // The computation an async-start, -update or -done runs; invalid where there is none.
  ComputationId wrapped(InstructionId id) const {
    return wrapped_.empty() ? ComputationId() : wrapped_[id.index];
  }
  // True if XLA prints the wrapped instruction in place of the computation (`negate-start`).
  bool IsSugared(ComputationId wrapped) const {
    return wrapped.valid() && !sugared_.empty() && sugared_[wrapped.index] != 0;
  }
  std::span<const InstructionId> starts() const { return starts_; }
  // An async-start gives its execution thread to all it calls; invalid: the main thread.
  StringId thread(ComputationId id) const {
    return threads_.empty() ? module_[id].execution_thread : threads_[id.index];
  }
  // Takes away the sugar of computations that it would not bring back as they are.
  void KeepLossless();

 private:
  void FindWrapped();
  void FindSugared();
  void SpreadThreads();

  const Module& module_;
  std::vector<InstructionId> starts_;
  std::vector<ComputationId> wrapped_;  // by instruction; empty without asynchronous instructions
  std::vector<uint8_t> sugared_;        // by computation
  std::vector<StringId> threads_;       // by computation
};

// The values XLA's reader makes up for the elided constants of a text: 32-bit numbers counting on
// from one constant to the next.
class InventedLiterals {
 public:
  struct Counter {
    uint32_t word = 0;
    uint8_t byte = 0;
  };
  explicit InventedLiterals(const Module& module);
  // That of an elided constant; nullopt for a tuple without parts, or what is too large.
  std::optional<Literal> operator[](InstructionId id) const;

 private:
  struct Start {
    InstructionId constant;
    Counter counter;
  };
  static Literal Invent(const Literal& literal, Counter& counter);

  const Module& module_;
  std::vector<Start> starts_;  // by instruction
};

class TextPrinter {
 public:
  TextPrinter(const Module& module, TextFormat format, std::string& out);

  void PrintModule();
  // With its name, without ENTRY.
  void PrintComputation(ComputationId id);
  void PrintInstruction(InstructionId id);
  // The instruction alone, valid until the next call.
  std::string_view TextOf(InstructionId id);
  std::string_view ValueTextOf(const Instruction& i, const Attribute& a);
  // Texts of shapes and metadata are made anew each time: cheaper for one instruction.
  void KeepNoTexts() { keeps_texts_ = false; }

  // Prints the value of an attribute, without its name.
  using ValuePrinter = void (TextPrinter::*)(const Instruction&, const Attribute&);

 private:
  // print_header.cc
  void PrintHeader();
  void PrintOriginTable();
  void PrintUnknownHeader();
  void PrintAliases();
  void PrintDonors();
  void PrintEntryLayout();
  void PrintEntryShape(ShapeId id);
  void PrintFlags(std::string_view prefix, const std::vector<bool>& flags);
  void PrintStackFrames();

  // print_module.cc
  void PrintSignature(ComputationId id);
  void PrintBody(const Computation& computation, std::span<const InstructionId> order);
  void PrintThread(ComputationId id);
  std::span<const InstructionId> OrderOf(ComputationId id, bool scheduled);
  const AsyncFacts& async();
  void RenumberFrames();
  void RenderBodies();
  void BeginLine() {
    if (rendering_bodies_) sink_.Append(kLineStart);
  }
  void PrintIndented(std::string_view body);
  std::vector<ComputationId> PrintedComputations() const;
  void ReserveOutput();

  // print_instruction.cc
  void PrintOperands(InstructionId id, const Instruction& i);
  void PrintConstant(InstructionId id, const Instruction& i);
  void PrintInvented(InstructionId id);
  void PrintCanonicalName(InstructionId id);
  std::string_view ShapeText(ShapeId id, bool layouts);
  void PrintShape(ShapeId id) { sink_.Append(ShapeText(id, true)); }
  void PrintName(std::string_view name) {
    if (options_.percent) sink_.Append('%');
    sink_.Append(name);
  }
  void PrintAsyncStart(const Instruction& i, ComputationId wrapped);
  // Attributes whose rank is in [from, to).
  void PrintRanks(const Instruction& i, uint32_t from, uint32_t to);

  // print_attribute.cc
  void PrintAttribute(const Instruction& i, const Attribute& a);
  void PrintAbsent(const Instruction& i, AttributeKey key);
  void PrintMapDimensions(const Instruction& i);
  void PrintCalls(const Instruction& i, const Attribute& a);
  void PrintBranches(const Instruction& i, const Attribute& a, std::span<const uint32_t> given);
  void PrintCalleeList(AttributeKey key, std::span<const uint32_t> callees);
  void PrintCallees(std::span<const uint32_t> callees, std::string_view separator);
  bool IsOmitted(const Instruction& i, const Attribute& a);
  bool IsOmittedInt(const Attribute& a);
  bool IsOmittedEnum(const Instruction& i, const Attribute& a);
  bool IsOmittedString(const Attribute& a);
  bool IsOmittedCall(const Instruction& i, const Attribute& a);
  static bool IsLaterAsync(const Instruction& i);
  bool IsOmittedMetadata(const OpMetadata& metadata);
  static const ValuePrinter kValuePrinters[];
  void PrintBool(const Instruction& i, const Attribute& a);
  void PrintInt(const Instruction& i, const Attribute& a);
  void PrintFloat(const Instruction& i, const Attribute& a);
  void PrintEnum(const Instruction& i, const Attribute& a);
  void PrintStringValue(const Instruction& i, const Attribute& a);
  void PrintInts(const Instruction& i, const Attribute& a);
  void PrintBools(const Instruction& i, const Attribute& a);
  void PrintEnums(const Instruction& i, const Attribute& a);
  void PrintPairs(const Instruction& i, const Attribute& a);
  void PrintPadding(const Instruction& i, const Attribute& a);
  void PrintSlices(const Instruction& i, const Attribute& a);
  void PrintInstructions(const Instruction& i, const Attribute& a);
  void PrintShapeValue(const Instruction& i, const Attribute& a);
  void PrintShapes(const Instruction& i, const Attribute& a);
  void PrintLiteralValue(const Instruction& i, const Attribute& a);
  void PrintRaw(const Instruction& i, const Attribute& a);
  // print_structured.cc: attributes whose value is a struct.
  void PrintWindow(const Instruction& i, const Attribute& a);
  void PrintDimLabels(const Instruction& i, const Attribute& a);
  void PrintDevices(const Instruction& i, const Attribute& a);
  void PrintSharding(const Instruction& i, const Attribute& a);
  void PrintDomain(const Instruction& i, const Attribute& a);
  void PrintFrontendAttributes(const Instruction& i, const Attribute& a);
  void PrintFrontendMap(const FrontendAttributes& map);
  void PrintAliasing(const Instruction& i, const Attribute& a);
  void PrintStatistics(const Instruction& i, const Attribute& a);
  void PrintOriginalValue(const Instruction& i, const Attribute& a);
  void PrintOriginalArray(const OriginalValue::Node& node);
  void PrintResultAccuracy(const Instruction& i, const Attribute& a);
  int32_t FrameNumber(const OpMetadata& metadata) const;
  void PrintMetadata(const Instruction& i, const Attribute& a);
  void PrintMetadataFields(const OpMetadata& metadata);
  void PrintBackendConfig(const Instruction& i, const Attribute& a);

  // Pieces of values.
  void PrintQuoted(std::string_view text);
  void PrintNameOrString(std::string_view text);
  void PrintJsonOrString(std::string_view text, bool json);
  void PrintEscaped(std::string_view text);
  template <typename Number>
  void PrintNumber(Number value);
  void PrintIntList(std::span<const int64_t> values);

  const Module& module_;
  const PrintOptions& options_;
  TextSink sink_;
  bool keeps_texts_ = true;
  std::optional<InstructionOrder> order_;     // made when the first computation is printed
  std::optional<AsyncFacts> async_;           // made when an instruction may need it
  std::optional<InventedLiterals> invented_;  // made when the first is wanted
  std::optional<UsedFrames> frames_;          // where the format has renumbered stack frames

  // Texts made once: of shapes by id, of metadata by pool index.
  struct Slice {
    uint32_t offset = 0;
    uint32_t size = 0;
  };
  std::string texts_;
  std::vector<Slice> shape_texts_;
  std::vector<Slice> plain_shape_texts_;  // without layouts
  std::vector<Slice> metadata_texts_;

  // Canonical format: numbers of tmp_N by instruction, and bodies of called computations.
  static constexpr uint32_t kNone = 0xffffffffu;
  static constexpr char kLineStart = '\x01';
  std::vector<uint32_t> canonical_;
  uint32_t next_canonical_ = 0;
  std::vector<std::string> bodies_;
  bool in_computation_ = false;
  bool rendering_bodies_ = false;
  // Bodies inside bodies grow exponentially in a hostile module; beyond this they are left out.
  size_t body_budget_ = size_t{1} << 27;
};

}  // namespace hloscope::hlo
