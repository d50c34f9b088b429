// TextParser: reads HLO text into a ModuleBuilder, in one pass and without allocation per
// instruction. Internal to the parse_*.cc files; the public function is ParseText (text.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/progress/activity.h"
#include "core/hlo/diagnostic.h"
#include "core/hlo/module_builder.h"
#include "core/hlo/opcode.h"
#include "core/hlo/shape/shape_inference.h"
#include "core/hlo/text/slice_cache.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {

// The instructions of a computation are kept in a Scope until its closing brace, because inline
// computations (`to_apply={…}`) end, and join the module, before the one around them. Indices
// inside a scope count from its first instruction.
//
// Reading functions answer false after reporting an error; the cursor then stands near it, and
// reading goes on at the next instruction. Something that could not be read is kept as "unknown"
// (index or id kNone), so that its users are not reported too.
class TextParser {
 public:
  TextParser(std::string_view text, const Limits& limits)
      : cursor_(text), limits_(limits), activity_("parsing", {}, std::ssize(text)) {}

  ParseResult Run();

 private:
  static constexpr uint32_t kNone = 0xffffffffu;

  // What a name means in the scope that defined it last.
  struct Symbol {
    uint32_t scope = 0;  // 0: never defined
    uint32_t index = kNone;
  };
  struct Pending {
    StringId name;
    ShapeId shape;  // invalid if unknown
    uint32_t first_operand = 0;
    uint32_t operand_count = 0;
    uint32_t first_attribute = 0;
    uint16_t attribute_count = 0;
    Opcode opcode = Opcode::kParameter;
    bool compact = false;  // made from an operand like %t#0
    uint32_t offset = 0;
  };
  // control-predecessors: ids are known only when the scope joins the module.
  struct Predecessors {
    uint32_t attribute;  // in Scope::attributes
    uint32_t first;      // in Scope::predecessor_ids
    uint32_t count;
  };
  struct Scope {
    uint32_t id = 0;
    uint32_t root = kNone;
    bool makes_parameters = false;  // a single instruction: unknown operands become parameters
    size_t errors_before = 0;
    std::vector<Pending> instructions;
    std::vector<InstructionId> operands;
    std::vector<Attribute> attributes;
    std::vector<Predecessors> predecessors;
    std::vector<uint32_t> predecessor_ids;
    std::vector<std::pair<StringId, Symbol>> shadowed;     // symbols of outer scopes to put back
    std::vector<std::pair<int64_t, uint32_t>> parameters;  // number, index
    std::unordered_map<uint32_t, uint32_t> async_starts;   // asynchronous instruction to its start
  };
  // An instruction being read.
  struct Draft {
    StringId name;  // invalid until the whole instruction is read
    uint32_t name_hash = 0;
    uint32_t offset = 0;
    Opcode opcode = Opcode::kParameter;
    std::optional<Opcode> wrapped;  // of negate-start and the like
    bool has_shape = false;
    bool broken = false;  // something about it is unknown; checks that need it are left out
    bool has_predecessors = false;
    ShapeId shape;
    size_t first_operand = 0;    // in operand_stack_
    size_t first_attribute = 0;  // in attribute_stack_
    uint64_t seen[2] = {0, 0};   // attribute keys
    uint32_t predecessors_first = 0;
    uint32_t predecessors_count = 0;
  };
  struct Callee {
    uint32_t computation = kNone;  // kNone: its definition had an error
    bool known = false;
  };

  // Errors. Error() answers false so that `return Error(…)` ends a reading function.
  bool Error(Diagnostic diagnostic);
  bool Error(std::string_view rule, std::string message, uint64_t offset, std::string hint = {});
  bool Expected(std::string_view what) { return Error(cursor_.Expected(what)); }
  void Warn(std::string_view rule, std::string message, uint64_t offset, std::string hint);
  // After a limit nothing is worth a message: the rest of the text was not read as it is meant.
  bool Full() const {
    return is_over_limit_ || error_count_ >= static_cast<size_t>(limits_.diagnostics);
  }
  bool OverLimit(std::string_view what, int64_t limit, std::string_view name, uint64_t offset);
  std::string LineOf(uint64_t offset);
  template <typename T>
  bool Take(Parsed<T> parsed, T& value) {
    if (!parsed) return Error(std::move(parsed).error());
    value = std::move(*parsed);
    return true;
  }

  // parse_module.cc: top level.
  bool LooksLikeModule();
  bool ParseModule();
  bool ParseSingleInstruction();
  void ReserveFromText();
  bool FinishModule();
  bool CheckAliases();
  void NoteSuffix(StringId name);
  bool NamesClash();
  void MakeNamesUnique();
  // parse_header.cc: what stands before the first computation.
  bool ParseHeader();
  bool ParseHeaderAttribute();
  bool ReadEntryLayout();
  bool ReadAliasTable();
  bool ReadDonorTable();
  bool ReadBools(std::vector<bool>& values);
  bool ReadDebugAttributes();
  bool ReadShapeIndex(std::vector<int64_t>& index);
  bool ParseStackFrames();
  bool ReadNameTable(std::string_view keyword, std::vector<StringId>& names);
  bool ReadLocations();
  bool ReadFrames();
  bool ReadFields(std::span<const std::string_view> names, std::span<int32_t> values);

  // parse_computation.cc
  bool ParseComputation();
  bool ReadSignature(std::optional<ShapeId>& result, uint64_t& result_offset);
  bool CheckSignature(Callee callee, ShapeId declared, uint64_t offset, std::string_view name);
  bool ParseBody(StringId name, Callee& callee);
  bool ReadExecutionThread(StringId& thread);
  void DefineComputation(StringId name, Callee callee, uint64_t offset);
  bool CheckParameters(Scope& scope);
  ComputationId CloseScope(StringId name);
  void Flush(Scope& scope);
  Scope& OpenScope();
  void LeaveScope();
  Scope& scope() { return *scopes_[depth_ - 1]; }
  bool RecoverInstruction();
  void RecoverComputation();

  // parse_instruction.cc
  bool ParseInstruction();
  uint32_t ParseRhs(std::string_view name, uint32_t offset, bool attributes_allowed);
  bool ReadDraft(Draft& draft, bool attributes_allowed);
  bool AtShape();
  bool ReadShapeId(ShapeId& shape);
  bool ReadOpcode(Draft& draft);
  uint32_t Append(Draft& draft);
  bool Define(StringId name, uint32_t index, uint64_t offset);
  bool CheckName(StringId id, uint64_t offset);
  Symbol& SymbolOf(StringId name);
  void SetSymbol(StringId name, Symbol symbol);
  StringId AnonymousName(Opcode opcode);
  // parse_known_shape.cc: shapes left out of the text that need no inference.
  std::optional<bool> TakeKnownShape(Draft& draft);
  std::optional<ShapeId> ElementShape(ShapeId tuple, int64_t element);
  bool MakeTupleShape(Draft& draft);
  std::optional<bool> MakeTransferShape(Draft& draft);
  std::optional<bool> TakeRootShape(Draft& draft);
  bool TooManyParts(Draft& draft);
  struct ShapeSize {
    uint32_t parts = 0;  // 0: not known yet
    uint32_t depth = 0;
  };
  ShapeSize SizeOf(ShapeId id);
  bool InferIfOmitted(Draft& draft);
  bool NormalizeSharding(Draft& draft);
  std::span<const uint32_t> OperandsOf(const Draft& draft) const {
    return std::span(operand_stack_).subspan(draft.first_operand);
  }
  std::span<Attribute> AttributesOf(const Draft& draft) {
    return std::span(attribute_stack_).subspan(draft.first_attribute);
  }
  const Shape* ShapeOf(uint32_t index);  // of an instruction of this scope; null if unknown
  const Shape& ShapeOf(ShapeId id) const { return builder_.module()[id]; }

  // parse_operands.cc
  bool ReadOperandList(Draft& draft);
  bool ReadOperand(Draft& draft);
  bool ReadNamedOperand(Draft& draft, ShapeId declared, std::string_view name, uint64_t offset);
  bool ReadNestedOperand(Draft& draft, const char* start);
  uint32_t ReadCompactElements(uint32_t index, std::string_view name, uint64_t offset, bool& ok);
  uint32_t ElementOf(uint32_t tuple, int64_t element, std::string& name, uint64_t offset, bool& ok);
  uint32_t MakeParameter(StringId name, ShapeId shape, uint64_t offset);
  bool ReadParameterNumber(Draft& draft);
  bool ReadConstant(Draft& draft);
  bool CheckOperandShape(uint32_t index, ShapeId declared, uint64_t offset);
  bool UndefinedOperand(std::string_view name, uint64_t offset);

  // parse_check.cc: XLA's rules about a whole instruction.
  bool CheckDraft(Draft& draft);
  bool CheckOperandCount(const Draft& draft);
  bool CheckRequired(const Draft& draft);
  bool CheckDimensionCount(Draft& draft);
  bool CheckConditional(Draft& draft);
  bool CheckCustomCall(Draft& draft);
  bool CheckDynamicSlice(Draft& draft);
  bool CheckReceived(Draft& draft);
  bool CheckTransferDone(Draft& draft);
  bool CheckGlobalIds(Draft& draft);
  bool CheckScan(Draft& draft);
  bool CheckCollectivePermute(Draft& draft);
  bool CheckReplication(Draft& draft);
  bool HasAttribute(const Draft& draft, AttributeKey key) const {
    auto k = static_cast<size_t>(key);
    return (draft.seen[k / 64] >> (k % 64) & 1) != 0;
  }
  const Attribute* FindAttribute(const Draft& draft, AttributeKey key);

  // parse_attribute.cc
  bool ReadAttributes(Draft& draft);
  bool ReadAttribute(Draft& draft);
  bool KeepUnknown(Draft& draft, std::string_view name, uint64_t offset);
  bool MarkSeen(Draft& draft, AttributeKey key, std::string_view name, uint64_t offset);
  void Push(Attribute attribute) { attribute_stack_.push_back(attribute); }
  using Reader = bool (TextParser::*)(Draft&, AttributeKey);
  static const Reader kReaders[];
  bool ReadBool(Draft& draft, AttributeKey key);
  bool ReadInt(Draft& draft, AttributeKey key);
  bool ReadFloat(Draft& draft, AttributeKey key);
  bool ReadEnum(Draft& draft, AttributeKey key);
  bool ReadStringValue(Draft& draft, AttributeKey key);
  bool ReadInts(Draft& draft, AttributeKey key);
  bool ReadBoolList(Draft& draft, AttributeKey key);
  bool ReadEnums(Draft& draft, AttributeKey key);
  bool ReadPairs(Draft& draft, AttributeKey key);
  bool ReadPadding(Draft& draft, AttributeKey key);
  bool ReadSlices(Draft& draft, AttributeKey key);
  bool ReadComputationValue(Draft& draft, AttributeKey key);
  bool ReadComputations(Draft& draft, AttributeKey key);
  bool ReadInstructions(Draft& draft, AttributeKey key);
  bool ReadShapeValue(Draft& draft, AttributeKey key);
  bool ReadShapes(Draft& draft, AttributeKey key);
  bool ReadRaw(Draft& draft, AttributeKey key);
  // parse_structured.cc: attributes whose value is a struct.
  bool ReadSliceSizes(AttributeKey key);
  bool ReadLiteralValue(Draft& draft, AttributeKey key);
  bool ReadShapedLiteral(Literal& literal, int64_t depth);
  bool ReadWindow(Draft& draft, AttributeKey key);
  bool ReadDimLabels(Draft& draft, AttributeKey key);
  bool ReadDevices(Draft& draft, AttributeKey key);
  bool ReadShardingValue(Draft& draft, AttributeKey key);
  bool ReadDomain(Draft& draft, AttributeKey key);
  bool ReadFrontendAttributes(Draft& draft, AttributeKey key);
  bool ReadAliasing(Draft& draft, AttributeKey key);
  bool ReadStatistics(Draft& draft, AttributeKey key);
  bool ReadResultAccuracy(Draft& draft, AttributeKey key);
  bool ReadMetadata(Draft& draft, AttributeKey key);
  bool ReadBackendConfig(Draft& draft, AttributeKey key);
  bool ReadOriginalValue(Draft& draft, AttributeKey key);
  bool ReadOriginTree(OriginalValue::Node& node, int64_t depth);
  bool ReadOriginArray(OriginalValue::Node& node);
  bool ReadTolerance(ResultAccuracy& accuracy);
  bool ReadMetadataEntry(OpMetadata& metadata, std::string& unknown, uint32_t& seen);
  bool ReadFrontendMap(FrontendAttributes& map);
  // The value of a {…} group by its text: `read` is asked only for a text not met before.
  template <typename T>
  bool Cached(AttributeKey key, bool (TextParser::*read)(T&));
  bool ParseMetadata(OpMetadata& metadata);
  bool ParseSharding(Sharding& sharding);
  bool ParseDevices(DeviceList& devices);
  bool ParseWindow(Window& window);

  // parse_implied.cc
  void AddImplied(Draft& draft);
  ShapeId LiteralShape(ShapeId id);
  void InheritOrigin(Draft& draft);
  void ForwardToWrapped(Draft& draft);
  uint32_t WrappedComputationOf(uint32_t start);

  // parse_async.cc
  bool CheckAsync(Draft& draft);
  bool CheckAsyncStart(Draft& draft);
  bool CheckAsyncChain(Draft& draft);
  bool CheckAsyncUpdate(const Draft& draft, const Shape* previous);
  bool HandsAsyncStateOn(const Pending& i);
  bool WrapAsync(Draft& draft);
  void SplitWrappedAttributes(Draft& draft, std::vector<Attribute>& inner);
  std::optional<Opcode> WrappedOpcodeOf(uint32_t start);

  // Small pieces of values.
  bool Need(char c);
  bool ReadIntValue(int64_t& value);
  bool ReadInt32(int32_t& value);
  bool ReadDoubleValue(double& value);
  bool ReadIntList(char open, char close, char separator, std::vector<int64_t>& values);
  bool ReadStringId(StringId& id);
  bool ReadNameOrString(StringId& text, const char* what);
  bool ReadJsonOrString(StringId& id, bool& json);
  bool ReadCallee(AttributeKey key, Callee& callee);
  static bool IsKeyword(std::string_view word);

  TextCursor cursor_;
  const Limits& limits_;
  Activity activity_;  // in bytes
  ModuleBuilder builder_;
  std::vector<Diagnostic> diagnostics_;
  size_t error_count_ = 0;
  bool is_over_limit_ = false;
  size_t warning_count_ = 0;
  std::unique_ptr<LineIndex> lines_;  // made when a message names a line

  std::vector<Symbol> symbols_;             // by StringId
  std::vector<Callee> computations_;        // by StringId
  std::vector<uint32_t> attribute_epochs_;  // by StringId: where an unknown attribute was met last
  std::vector<std::unique_ptr<Scope>> scopes_;
  size_t depth_ = 0;
  uint32_t scope_count_ = 0;
  uint32_t draft_count_ = 0;
  int64_t nesting_ = 0;
  std::vector<uint32_t> operand_stack_;
  std::vector<Attribute> attribute_stack_;
  std::vector<int64_t> ints_;
  std::vector<uint32_t> ids_;
  SliceCache cache_;
  ProgramShapes programs_;
  std::vector<ShapeSize> shape_sizes_;  // by ShapeId
  int64_t inferred_parts_ = 0;
  // Shapes made from others: the ids they were made from, and which part.
  std::map<std::vector<uint32_t>, ShapeId> made_shapes_;
  std::vector<uint32_t> anonymous_counts_;  // by opcode
  bool names_clash_ = false;                // names have to be made unique
  std::vector<StringId> zero_names_;        // names like x.0
  bool has_header_ = false;
  ComputationId entry_;
  uint64_t entry_offset_ = 0;
  bool saw_entry_ = false;
  std::vector<uint64_t> alias_offsets_;
};

}  // namespace hloscope::hlo
