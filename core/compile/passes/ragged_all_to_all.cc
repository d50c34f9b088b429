// ragged-all-to-all where plans of several devices meet: all devices get everybody's arrays and
// numbers, and each takes the rows that are sent to it, in the order of the group.
#include <array>
#include <limits>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/collectives.h"
#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/comparison.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

constexpr int64_t kMaxPieces = 64;  // that a device gets
constexpr ElementType kNumber = ElementType::kS64;
constexpr const char* kOutside = "ragged-all-to-all: a slice lies outside its buffer";

class RaggedExchange {
 public:
  RaggedExchange(Edit& edit, InstructionId id, const hlo::DeviceCounts& counts,
                 const std::vector<std::vector<int64_t>>& groups)
      : edit_(edit),
        id_(id),
        counts_(counts),
        groups_(groups),
        input_(edit.shape(edit.operand(id, 0))),
        output_(PlainArray(input_.element_type(), SizesOf(edit.shape(id)))),
        members_(std::ssize(groups[0])),
        numbers_(edit.shape(edit.operand(id, 2)).dimension(0)),
        pieces_(numbers_ / members_),
        rows_(PlainArray(kNumber, output_.dimensions().first(1))) {}

  InstructionId Write() {
    const InstructionId all = Gathered(edit_.operand(id_, 0));
    FindNumbers();
    const InstructionId place = Places();
    const InstructionId row = Rows(Opcode::kMaximum, place, Broadcast(Constant(0), rows_, {}));
    std::vector<int64_t> sizes = SizesOf(input_);
    sizes[0] *= members_;
    const InstructionId flat =
        Add("flat", Opcode::kReshape, PlainArray(input_.element_type(), sizes), {all});
    std::vector<int64_t> offset, slice = {1}, first = {0};
    for (size_t d = 1; d < input_.rank(); ++d) {
      offset.push_back(static_cast<int64_t>(d));
      slice.push_back(input_.dimension(d));
    }
    const hlo::GatherDims dims = {.offset_dims = offset,
                                  .collapsed_slice_dims = first,
                                  .start_index_map = first,
                                  .index_vector_dim = 1,
                                  .slice_sizes = slice};
    const InstructionId taken = Add("taken", Opcode::kGather, output_, {flat, row},
                                    hlo::MakeGatherDims(edit_.rewriter().builder(), dims));
    const InstructionId is_sent =
        Compare(place, Broadcast(Constant(0), rows_, {}), rows_, hlo::ComparisonDirection::kGe);
    const InstructionId everywhere =
        Broadcast(is_sent, PlainArray(ElementType::kPred, output_.dimensions()), first);
    return Checked(
        Add("result", Opcode::kSelect, output_, {everywhere, taken, edit_.operand(id_, 1)}));
  }

 private:
  InstructionId Add(std::string_view name, Opcode opcode, Shape shape,
                    std::initializer_list<InstructionId> operands,
                    std::vector<hlo::Attribute> attributes = {}) {
    return edit_.Add(id_, name, opcode, std::move(shape), operands, std::move(attributes));
  }
  // By everybody in the group, whose ids are those of devices here.
  InstructionId Gathered(InstructionId own) {
    hlo::ModuleBuilder& builder = edit_.rewriter().builder();
    hlo::DeviceList devices;
    devices.groups = groups_;
    return GatheredByAll(edit_, id_, own, static_cast<size_t>(members_),
                         {builder.Make(AttributeKey::kReplicaGroups, std::move(devices)),
                          builder.MakeInt(AttributeKey::kChannelId, 1),
                          builder.MakeBool(AttributeKey::kUseGlobalDeviceIds, true)});
  }
  InstructionId Constant(int64_t number) {
    const Shape shape = Shape::Scalar(kNumber);
    return Add(
        "number", Opcode::kConstant, shape, {},
        {edit_.rewriter().builder().Make(AttributeKey::kConstantValue,
                                         hlo::Literal::Of<int64_t>(shape, std::span(&number, 1)))});
  }
  InstructionId Broadcast(InstructionId value, const Shape& shape,
                          std::span<const int64_t> dimensions) {
    return Add("broadcast", Opcode::kBroadcast, shape, {value},
               {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, dimensions)});
  }
  InstructionId Compare(InstructionId a, InstructionId b, const Shape& of,
                        hlo::ComparisonDirection direction) {
    return Add("is", Opcode::kCompare, PlainArray(ElementType::kPred, of.dimensions()), {a, b},
               {edit_.rewriter().builder().MakeEnum(AttributeKey::kDirection,
                                                    static_cast<int32_t>(direction))});
  }
  InstructionId Rows(Opcode opcode, InstructionId a, InstructionId b) {
    return Add("row", opcode, rows_, {a, b});
  }
  InstructionId Scalars(Opcode opcode, InstructionId a, InstructionId b) {
    return Add("number", opcode, Shape::Scalar(kNumber), {a, b});
  }

  // A part of an array, and as a scalar where it is one element.
  InstructionId Part(InstructionId array, const std::vector<InstructionId>& starts,
                     const std::vector<int64_t>& sizes) {
    std::vector<InstructionId> operands = {array};
    operands.insert(operands.end(), starts.begin(), starts.end());
    return edit_.Add(
        id_, "part", Opcode::kDynamicSlice, PlainArray(kNumber, sizes), operands,
        {edit_.rewriter().builder().MakeInts(AttributeKey::kDynamicSliceSizes, sizes)});
  }
  InstructionId Element(InstructionId array, const std::vector<InstructionId>& starts,
                        const std::vector<int64_t>& sizes) {
    return Add("element", Opcode::kReshape, Shape::Scalar(kNumber), {Part(array, starts, sizes)});
  }

  // By sender and piece: where what is sent to this device begins, how long it is, where it goes.
  void FindNumbers() {
    std::vector<InstructionId> own;
    const Shape each = PlainArray(kNumber, std::span(&numbers_, 1));
    for (const size_t operand : {2, 3, 4}) {
      own.push_back(Add("own", Opcode::kConvert, each, {edit_.operand(id_, operand)}));
    }
    const int64_t count = 3 * numbers_, first = 0;
    const InstructionId joined = edit_.Add(
        id_, "own", Opcode::kConcatenate, PlainArray(kNumber, std::span(&count, 1)), own,
        {edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, std::span(&first, 1))});
    const InstructionId all = Gathered(joined);
    const InstructionId mine = Scalars(
        Opcode::kMultiply, PositionInGroup(edit_, id_, counts_, groups_), Constant(pieces_));
    for (int64_t k = 0; k < 3; ++k) {
      parts_[k] = Part(all, {Constant(0), Scalars(Opcode::kAdd, mine, Constant(k * numbers_))},
                       {members_, pieces_});
    }
  }

  // The row of everybody's arrays that each row of the result is; -1: the output's own.
  InstructionId Places() {
    const InstructionId rows =
        Add("row", Opcode::kIota, rows_, {},
            {edit_.rewriter().builder().MakeInt(AttributeKey::kIotaDimension, 0)});
    InstructionId place = Broadcast(Constant(-1), rows_, {});
    for (int64_t sender = 0; sender < members_; ++sender) {
      for (int64_t piece = 0; piece < pieces_; ++piece) {
        const auto number = [&](int64_t k) {
          return Element(parts_[k], {Constant(sender), Constant(piece)}, {1, 1});
        };
        const InstructionId from =
            Scalars(Opcode::kAdd, number(0), Constant(sender * input_.dimension(0)));
        const InstructionId behind = Rows(Opcode::kSubtract, rows, Broadcast(number(2), rows_, {}));
        const InstructionId reaches = Compare(behind, Broadcast(Constant(0), rows_, {}), rows_,
                                              hlo::ComparisonDirection::kGe);
        const InstructionId ends =
            Compare(behind, Broadcast(number(1), rows_, {}), rows_, hlo::ComparisonDirection::kLt);
        const InstructionId is_here =
            Add("is", Opcode::kAnd, PlainArray(ElementType::kPred, rows_.dimensions()),
                {reaches, ends});
        place = Add("row", Opcode::kSelect, rows_,
                    {is_here, Rows(Opcode::kAdd, behind, Broadcast(from, rows_, {})), place});
      }
    }
    return place;
  }

  // The array, where all that is sent here lies inside of its buffers.
  InstructionId Checked(InstructionId whole) {
    const std::vector<int64_t> sizes = {members_, pieces_};
    const Shape each = PlainArray(kNumber, sizes);
    const Shape truths = PlainArray(ElementType::kPred, sizes);
    const auto room = [&](int64_t buffer, InstructionId start) {
      return Add("room", Opcode::kSubtract, each, {Broadcast(Constant(buffer), each, {}), start});
    };
    const InstructionId none = Broadcast(Constant(0), each, {});
    const auto [start, size, place] = parts_;
    InstructionId fits = Compare(start, none, each, hlo::ComparisonDirection::kGe);
    for (const InstructionId more :
         {Compare(size, none, each, hlo::ComparisonDirection::kGe),
          Compare(place, none, each, hlo::ComparisonDirection::kGe),
          Compare(size, room(input_.dimension(0), start), each, hlo::ComparisonDirection::kLe),
          Compare(size, room(output_.dimension(0), place), each, hlo::ComparisonDirection::kLe)}) {
      fits = Add("is", Opcode::kAnd, truths, {fits, more});
    }
    hlo::ModuleBuilder& builder = edit_.rewriter().builder();
    const InstructionId truth = edit_.AddScalar(id_, ElementType::kPred, {std::byte{1}});
    const std::vector<int64_t> both = {0, 1};
    const InstructionId all_fit = Add(
        "fits", Opcode::kReduce, Shape::Scalar(ElementType::kPred), {fits, truth},
        {builder.MakeInts(AttributeKey::kDimensions, both),
         builder.MakeComputation(AttributeKey::kToApply,
                                 edit_.AddReducer(id_, "both", Opcode::kAnd, ElementType::kPred))});
    return Add("checked", Opcode::kConditional, output_, {all_fit, whole, whole},
               {builder.MakeComputation(AttributeKey::kTrueComputation, Branch("fitting", false)),
                builder.MakeComputation(AttributeKey::kFalseComputation, Branch("outside", true))});
  }
  hlo::ComputationId Branch(std::string_view name, bool refuses) {
    hlo::Rewriter& rewriter = edit_.rewriter();
    hlo::ModuleBuilder& builder = rewriter.builder();
    const hlo::ComputationId branch =
        rewriter.AddComputation(edit_.UniqueName(name), rewriter.computation(id_));
    const hlo::Attribute number = builder.MakeInt(AttributeKey::kParameterNumber, 0);
    InstructionId root = rewriter.Add(branch, edit_.UniqueName("array"), Opcode::kParameter,
                                      output_, {}, std::span(&number, 1));
    edit_.NoteOrigin(root, id_, hlo::OriginKind::kMade);
    if (refuses) {
      const std::vector<hlo::Attribute> words = {
          builder.MakeString(AttributeKey::kCustomCallTarget, kRefusingTarget),
          builder.Make(AttributeKey::kBackendConfig, hlo::BackendConfig{builder.Intern(kOutside)})};
      root = rewriter.Add(branch, edit_.UniqueName("refusal"), Opcode::kCustomCall, output_,
                          std::span(&root, 1), words);
      edit_.NoteOrigin(root, id_, hlo::OriginKind::kMade);
    }
    rewriter.SetRoot(branch, root);
    return branch;
  }

  Edit& edit_;
  InstructionId id_;
  const hlo::DeviceCounts& counts_;
  const std::vector<std::vector<int64_t>>& groups_;  // devices
  Shape input_, output_;
  int64_t members_, numbers_, pieces_;
  Shape rows_;  // a number for each row of the output
  std::array<InstructionId, 3> parts_;
};

bool IsPlain(const Module& module, InstructionId id, const hlo::DeviceCounts& counts,
             size_t members) {
  const auto operands = module.operands(id);
  const Shape &input = module.shape(operands[0]), &output = module.shape(operands[1]);
  if (members < 2 || !IsWholeArray(input) || !SameArray(output, module.shape(id)) ||
      !IsWholeArray(output) || input.rank() == 0 || input.rank() != output.rank() ||
      BitWidth(input.element_type()) < 8 || input.element_type() != output.element_type() ||
      !std::ranges::equal(input.dimensions().subspan(1), output.dimensions().subspan(1))) {
    return false;
  }
  const int64_t numbers = module.shape(operands[2]).ElementCount().value_or(0);
  const auto group = static_cast<int64_t>(members);
  const auto is_list = [&](InstructionId operand) {
    const Shape& shape = module.shape(operand);
    return IsWholeArray(shape) && shape.rank() == 1 && shape.dimension(0) == numbers &&
           IsInteger(shape.element_type());
  };
  return std::ranges::all_of(operands.subspan(2, 3), is_list) && numbers % group == 0 &&
         numbers <= kMaxPieces && counts.devices() > 1;
}

}  // namespace

Result<PassResult> DecomposeRaggedAllToAlls(const std::shared_ptr<const Module>& module,
                                            Compilation& out) {
  if (!out.plan_collectives) return PassResult{};
  const hlo::DeviceCounts counts =
      hlo::TopologyOf(*module, std::numeric_limits<int64_t>::max()).counts;
  return EditEach(module, Opcode::kRaggedAllToAll, [&](Edit& edit, InstructionId id) {
    const auto operands = module->operands(id);
    const int64_t bytes = module->shape(operands[0]).ByteSize().value_or(0);
    const size_t members = MembersOf(*module, id, counts, bytes);
    if (!IsPlain(*module, id, counts, members)) return;
    const auto groups = hlo::CollectiveGroups(*module, id, counts);
    edit.Replace(id, RaggedExchange(edit, id, counts, *groups).Write());
  });
}

}  // namespace hloscope::compile
