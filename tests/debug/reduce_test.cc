// The core of reductions, with predicates that are functions: no process, no platform.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "core/debug/reduce/combiner_sense.h"
#include "core/debug/reduce/device_sense.h"
#include "core/debug/reduce/edit.h"
#include "core/debug/reduce/literals.h"
#include "core/debug/reduce/reductions.h"
#include "core/debug/reduce/search.h"
#include "core/hlo/text/text.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::debug {
namespace {

using hlo::Literal;
using hlo::Opcode;
using hlo::Shape;

Candidate Parse(std::string_view text) {
  const auto parsed = hlo::ParseText(text);
  EXPECT_TRUE(parsed.ok()) << (parsed.diagnostics.empty() ? "" : parsed.diagnostics[0].message);
  Candidate candidate{parsed.module, {}};
  for (const hlo::InstructionId id : parsed.module->Parameters(parsed.module->entry_id())) {
    const Shape& shape = parsed.module->shape(id);
    const auto bytes = static_cast<size_t>(shape.ByteSize().value_or(0));
    candidate.arguments.push_back(
        shape.IsArray() ? Literal::Dense(shape, std::vector<std::byte>(bytes)) : Literal());
  }
  return candidate;
}

std::string TextOf(const Candidate& candidate) {
  std::string text;
  hlo::PrintText(*candidate.module, hlo::TextFormat::kShort, text);
  return text;
}

size_t Count(const Candidate& candidate, Opcode opcode) {
  return static_cast<size_t>(
      std::ranges::count(candidate.module->instructions(), opcode, &hlo::Instruction::opcode));
}

using Predicate = std::function<bool(const Candidate&)>;

// Reduces; every try has to be sound, with an argument for each parameter, and of its own.
class Reducer {
 public:
  Candidate Run(const Candidate& first, const Predicate& fails, int jobs = 1,
                std::stop_token stop = {}, int64_t most_tries = 0) {
    SearchOptions options;
    options.jobs = jobs;
    options.stop = std::move(stop);
    options.most_tries = most_tries;
    const Try attempt = [&](const Candidate& c, const std::stop_token&) -> std::optional<Failure> {
      Check(c);
      return fails(c) ? std::optional(ScriptFailure("it")) : std::nullopt;
    };
    Search search(first, ScriptFailure("it"), attempt, {}, options);
    RunReductions(search);
    tries = search.tries();
    return search.best();
  }

  int64_t tries = 0;

 private:
  void Check(const Candidate& c) {
    for (const hlo::Diagnostic& d : hlo::Verify(*c.module)) {
      EXPECT_NE(d.severity, hlo::Severity::kError) << d.message << "\n" << TextOf(c);
    }
    const auto parameters = c.module->Parameters(c.module->entry_id());
    ASSERT_EQ(parameters.size(), c.arguments.size()) << TextOf(c);
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (IsUnknown(c.arguments[i])) continue;
      EXPECT_TRUE(hlo::Compatible(c.module->shape(parameters[i]), c.arguments[i].shape()))
          << TextOf(c);
    }
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(tried_.insert(FingerprintOf(c)).second) << "tried twice:\n" << TextOf(c);
  }

  std::mutex mutex_;
  std::set<uint64_t> tried_;
};

// A chain of `length` steps with a tanh of an exponential in its middle.
std::string Chain(int length) {
  std::string text = R"(HloModule chain, entry_computation_layout={(f32[16,8]{1,0})->f32[16,8]{1,0}}
ENTRY e {
  x0 = f32[16,8]{1,0} parameter(0), metadata={op_name="a"}
)";
  for (int i = 1; i <= length; ++i) {
    const std::string_view opcode = i == length / 2       ? "exponential"
                                    : i == length / 2 + 1 ? "tanh"
                                                          : "negate";
    text += fmt::format("  {}x{} = f32[16,8]{{1,0}} {}(x{})\n", i == length ? "ROOT " : "", i,
                        opcode, i - 1);
  }
  return text + "}\n";
}

bool HasPair(const Candidate& c) {
  const hlo::Module& m = *c.module;
  return std::ranges::any_of(m.instructions(), [&](const hlo::Instruction& i) {
    return i.opcode == Opcode::kTanh && m[m.operands(i)[0]].opcode == Opcode::kExp;
  });
}

TEST(Reduce, FindsTheTwoInstructions) {
  Reducer reducer;
  const Candidate smallest = reducer.Run(Parse(Chain(400)), HasPair);
  EXPECT_EQ(TextOf(smallest),
            R"(HloModule chain, entry_computation_layout={(f32[])->f32[]}

ENTRY e {
  x199 = f32[] parameter(0)
  x200 = f32[] exponential(x199)
  ROOT x201 = f32[] tanh(x200)
}

)");
  EXPECT_LT(reducer.tries, 60);
}

TEST(Reduce, NumberOfJobsChangesNothing) {
  const Candidate first = Parse(Chain(100));
  const std::string alone = TextOf(Reducer().Run(first, HasPair));
  for (const int jobs : {2, 5}) EXPECT_EQ(TextOf(Reducer().Run(first, HasPair, jobs)), alone);
}

// What is tried beside the one that is taken does not count.
TEST(Reduce, EndsAfterTheSameTriesForAnyNumberOfJobs) {
  const Candidate first = Parse(Chain(100));
  std::set<std::string> ends;
  for (const int64_t most : {3, 6, 9}) {
    const std::string alone = TextOf(Reducer().Run(first, HasPair, 1, {}, most));
    for (const int jobs : {2, 5}) {
      EXPECT_EQ(TextOf(Reducer().Run(first, HasPair, jobs, {}, most)), alone) << most;
    }
    ends.insert(alone);
  }
  EXPECT_GT(ends.size(), 1u);
}

TEST(Reduce, TriesAfterTheFirstFailureAreStopped) {
  const Candidate first = Parse(Chain(40));
  std::atomic<int> stopped = 0;
  SearchOptions options;
  options.jobs = 4;
  const Try attempt = [&](const Candidate& c, const std::stop_token& stop) {
    // Larger ones hang until they are stopped.
    for (int i = 0; i < 200 && !HasPair(c); ++i) {
      if (stop.stop_requested()) {
        ++stopped;
        break;
      }
      if (c.module->instructions().size() < 10) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return HasPair(c) ? std::optional(ScriptFailure("it")) : std::nullopt;
  };
  Search search(first, ScriptFailure("it"), attempt, {}, options);
  RunReductions(search);
  EXPECT_EQ(search.size().instructions, 3u);
}

TEST(Reduce, StopsWithTheBestSoFar) {
  std::stop_source stop;
  int left = 3;
  const Candidate first = Parse(Chain(400));
  const Candidate best = Reducer().Run(
      first,
      [&](const Candidate& c) {
        if (!HasPair(c)) return false;
        if (--left == 0) stop.request_stop();
        return true;
      },
      1, stop.get_token());
  EXPECT_TRUE(HasPair(best));
  EXPECT_LT(best.module->instructions().size(), 400u);
  EXPECT_GT(best.module->instructions().size(), 3u);
}

constexpr std::string_view kNested = R"(HloModule nested
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
fused {
  p = f32[4] parameter(0)
  unused = f32[4] parameter(1)
  t = f32[4] sine(p)
  n = f32[4] negate(t)
  ROOT q = f32[4] cosine(n)
}
body {
  state = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  v = f32[4] get-tuple-element(state), index=1
  w = f32[4] get-tuple-element(state), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  f = f32[4] fusion(v, w), kind=kLoop, calls=fused
  k = f32[4] multiply(w, w)
  ROOT next = (s32[], f32[4], f32[4]) tuple(j, f, k)
}
condition {
  state = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  most = s32[] constant(10)
  ROOT less = pred[] compare(i, most), direction=LT
}
left {
  x = f32[4] parameter(0)
  zero = f32[] constant(0)
  r = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  ROOT s = f32[4] broadcast(r), dimensions={}
}
right {
  ROOT x = f32[4] parameter(0)
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  which = pred[] parameter(2)
  start = s32[] constant(0)
  init = (s32[], f32[4], f32[4]) tuple(start, x, y)
  loop = (s32[], f32[4], f32[4]) while(init), condition=condition, body=body
  out = f32[4] get-tuple-element(loop), index=1
  b = f32[4] conditional(which, out, y), true_computation=left, false_computation=right
  ROOT all = (f32[4], f32[4]) tuple(b, out)
}
)";

TEST(Reduce, GoesIntoLoopsFusionsAndBranches) {
  const Candidate first = Parse(kNested);
  const auto has = [](Opcode opcode) {
    return [opcode](const Candidate& c) { return Count(c, opcode) > 0; };
  };
  EXPECT_EQ(Reducer().Run(first, has(Opcode::kSin)).module->instructions().size(), 2u);
  EXPECT_LE(Reducer().Run(first, has(Opcode::kReduce)).module->instructions().size(), 5u);
  EXPECT_LE(Reducer().Run(first, has(Opcode::kFusion)).module->instructions().size(), 3u);
  const Candidate loop = Reducer().Run(first, has(Opcode::kWhile));
  EXPECT_LE(loop.module->instructions().size(), 5u) << TextOf(loop);
  const Candidate branch = Reducer().Run(first, has(Opcode::kConditional));
  EXPECT_LE(branch.module->instructions().size(), 4u) << TextOf(branch);
}

TEST(Reduce, LoopsLoseWhatTheyOnlyCarry) {
  const auto fails = [](const Candidate& c) {
    return Count(c, Opcode::kWhile) > 0 && Count(c, Opcode::kSin) > 0 &&
           Count(c, Opcode::kCompare) > 0;
  };
  const Candidate smallest = Reducer().Run(Parse(kNested), fails);
  EXPECT_LE(smallest.module->instructions().size(), 11u) << TextOf(smallest);
}

constexpr std::string_view kSeveralArrays = R"(HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  e = f32[] parameter(4)
  f = f32[] parameter(5)
  ROOT l = pred[] compare(c, d), direction=LT
}
both {
  a = f32[] parameter(0)
  b = s32[] parameter(1)
  c = f32[] parameter(2)
  d = s32[] parameter(3)
  s = f32[] add(a, c)
  t = s32[] add(b, d)
  ROOT r = (f32[], s32[]) tuple(s, t)
}
ENTRY e {
  x = f32[4,4] parameter(0)
  y = s32[4,4] parameter(1)
  z = f32[4,4] parameter(2)
  s = (f32[4,4], s32[4,4], f32[4,4]) sort(x, y, z), dimensions={0}, to_apply=less
  u = f32[4,4] get-tuple-element(s), index=2
  v = s32[4,4] get-tuple-element(s), index=1
  zero = f32[] constant(0)
  none = s32[] constant(0)
  q = (f32[4], s32[4]) reduce(u, v, zero, none), dimensions={1}, to_apply=both
  ROOT r = s32[4] get-tuple-element(q), index=1
}
)";

TEST(Reduce, ArraysThatOthersDoWithoutGo) {
  Reducer reducer;
  const Candidate smallest = reducer.Run(Parse(kSeveralArrays), [](const Candidate& c) {
    return Count(c, Opcode::kSort) == 1 && Count(c, Opcode::kReduce) == 1 &&
           c.module->shape(c.module->entry().root).IsArray();
  });
  EXPECT_EQ(Count(smallest, Opcode::kGetTupleElement), 0u) << TextOf(smallest);
  EXPECT_EQ(Count(smallest, Opcode::kTuple), 0u) << TextOf(smallest);
}

TEST(Reduce, ShapesFollowThroughReshapesAndSlices) {
  const Candidate first = Parse(R"(HloModule shapes
ENTRY e {
  x = f32[64,32] parameter(0)
  r = f32[8,8,32] reshape(x)
  t = f32[32,8,8] transpose(r), dimensions={2,0,1}
  s = f32[16,8,8] slice(t), slice={[16:32], [0:8], [0:8]}
  ROOT c = f32[48,8,8] concatenate(s, t), dimensions={0}
}
)");
  const auto fails = [](const Candidate& c) {
    return Count(c, Opcode::kReshape) > 0 && Count(c, Opcode::kConcatenate) > 0 &&
           Count(c, Opcode::kSlice) > 0 && Count(c, Opcode::kTranspose) > 0;
  };
  const Candidate smallest = Reducer().Run(first, fails);
  EXPECT_LE(SizeOf(smallest).bytes, 200) << TextOf(smallest);
}

constexpr std::string_view kRanks = R"(HloModule ranks
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
body {
  state = (s32[], f32[1,4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  v = f32[1,4] get-tuple-element(state), index=1
  w = f32[1,4] cosine(v)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT next = (s32[], f32[1,4]) tuple(j, w)
}
condition {
  state = (s32[], f32[1,4]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  most = s32[] constant(10)
  ROOT less = pred[] compare(i, most), direction=LT
}
ENTRY e {
  x = f32[1,4,3] parameter(0)
  k = f32[3,1,2] constant({{{1,2}},{{3,4}},{{5,6}}})
  d = f32[1,4,1,2] dot(x, k), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  t = f32[4,2,1,1] transpose(d), dimensions={1,3,2,0}
  zero = f32[] constant(0)
  p = f32[4,2,1,1] pad(t, zero), padding=0_0x0_0x0_0x0_0
  s = f32[4,2,1,1] slice(p), slice={[0:4], [0:2], [0:1], [0:1]}
  start = s32[] constant(0)
  y = f32[4,2,1,1] dynamic-slice(s, start, start, start, start), dynamic_slice_sizes={4,2,1,1}
  r = f32[4,1] reduce(y, zero), dimensions={1,2}, to_apply=sum
  u = f32[1,4] transpose(r), dimensions={1,0}
  init = (s32[], f32[1,4]) tuple(start, u)
  loop = (s32[], f32[1,4]) while(init), condition=condition, body=body
  ROOT out = f32[1,4] get-tuple-element(loop), index=1
}
)";

// The sizes that matter stay, in the dimensions that are left.
TEST(Reduce, DimensionsOfOneElementGo) {
  const auto fails = [](const Candidate& c) {
    const hlo::Module& m = *c.module;
    const bool is_whole = Count(c, Opcode::kWhile) == 1 && Count(c, Opcode::kDynamicSlice) == 1 &&
                          Count(c, Opcode::kSlice) == 1 && Count(c, Opcode::kPad) == 1 &&
                          Count(c, Opcode::kReduce) == 1 && Count(c, Opcode::kDot) == 1 &&
                          Count(c, Opcode::kCos) == 1;
    return is_whole && m.shape(m.entry().root).ElementCount() == 4 &&
           std::ranges::any_of(m.instructions(), [&](const hlo::Instruction& i) {
             const auto* value = m.Get<Literal>(i, hlo::AttributeKey::kConstantValue);
             return value != nullptr && value->bytes().size() == 24 && value->data<float>()[5] == 6;
           });
  };
  const Candidate smallest = Reducer().Run(Parse(kRanks), fails);
  for (const hlo::Instruction& i : smallest.module->instructions()) {
    for (const hlo::Shape* shape : (*smallest.module)[i.shape].LeafShapes()) {
      for (const int64_t size : shape->dimensions()) EXPECT_NE(size, 1) << TextOf(smallest);
    }
  }
  EXPECT_EQ(smallest.module->shape(smallest.module->entry().root).rank(), 1u);
}

TEST(Reduce, DimensionsThatAreNeededStay) {
  const Candidate smallest = Reducer().Run(Parse(kRanks), [](const Candidate& c) {
    const hlo::Module& m = *c.module;
    return std::ranges::any_of(m.instructions(), [&](const hlo::Instruction& i) {
      return i.opcode == Opcode::kTranspose && m[i.shape].rank() == 4;
    });
  });
  EXPECT_EQ(smallest.module->shape(smallest.module->entry().root).rank(), 4u) << TextOf(smallest);
}

TEST(Reduce, ComputationsThatComputeTheSameAreOne) {
  const Candidate first = Parse(R"(HloModule twins
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
other {
  c = f32[] parameter(0)
  d = f32[] parameter(1)
  ROOT t = f32[] add(c, d)
}
product {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] multiply(a, b)
}
ENTRY e {
  x = f32[4,4] parameter(0)
  zero = f32[] constant(0)
  p = f32[4] reduce(x, zero), dimensions={0}, to_apply=sum
  q = f32[] reduce(p, zero), dimensions={0}, to_apply=other
  b = f32[4] broadcast(q), dimensions={}
  ROOT r = f32[] reduce(b, zero), dimensions={0}, to_apply=product
}
)");
  const Candidate smallest = Reducer().Run(first, [](const Candidate& c) {
    return Count(c, Opcode::kReduce) == 3 && Count(c, Opcode::kMultiply) == 1 &&
           Count(c, Opcode::kAdd) > 0;
  });
  EXPECT_EQ(smallest.module->computations().size(), 3u) << TextOf(smallest);
  EXPECT_EQ(Count(smallest, Opcode::kAdd), 1u);
}

TEST(Reduce, TypesConstantsAndAttributesBecomeSimple) {
  const Candidate first = Parse(R"(HloModule types, frontend_attributes={a="b"}
ENTRY e {
  x = f64[4] parameter(0)
  c = f64[4] constant({1.2345, 2, 3, 4})
  ROOT m = f64[4] multiply(x, c), metadata={op_name="m"}, backend_config="x"
}
)");
  const Candidate smallest =
      Reducer().Run(first, [](const Candidate& c) { return Count(c, Opcode::kConstant) > 0; });
  EXPECT_EQ(smallest.module->instructions().size(), 1u) << TextOf(smallest);
  const Candidate product = Reducer().Run(first, [](const Candidate& c) {
    return Count(c, Opcode::kMultiply) > 0 && Count(c, Opcode::kConstant) > 0;
  });
  EXPECT_EQ(TextOf(product).find("f64"), std::string::npos);
  EXPECT_EQ(TextOf(product).find("1.2345"), std::string::npos);
  EXPECT_EQ(TextOf(product).find("backend_config"), std::string::npos);
  EXPECT_EQ(TextOf(product).find("frontend"), std::string::npos);
}

TEST(Reduce, InputsKeepWhatMatters) {
  Candidate first = Parse(R"(HloModule inputs
ENTRY e {
  x = f32[8] parameter(0)
  ROOT m = f32[8] negate(x)
}
)");
  const std::vector<float> values = {1.2345f, 2, 3, 4, 5, 123.456f, 7, 8};
  first.arguments[0] = Literal::Of<float>(Shape::Array(hlo::ElementType::kF32, {8}), values);
  const Candidate smallest = Reducer().Run(first, [](const Candidate& c) {
    const auto data = c.arguments.empty() ? std::span<const float>() : c.arguments[0].data<float>();
    return data.size() == 8 && data[5] > 100;
  });
  const auto data = smallest.arguments[0].data<float>();
  EXPECT_EQ(std::vector<float>(data.begin(), data.end()),
            (std::vector<float>{0, 0, 0, 0, 0, 123, 0, 0}));
}

TEST(Reduce, DeepChainsNeedNoStack) {
  const Candidate first = Parse(Chain(20000));
  SearchOptions options;
  int64_t left = 12;
  std::stop_source stop;
  options.stop = stop.get_token();
  const Try attempt = [&](const Candidate&, const std::stop_token&) -> std::optional<Failure> {
    if (--left == 0) stop.request_stop();
    return std::nullopt;
  };
  Search search(first, ScriptFailure("it"), attempt, {}, options);
  RunReductions(search);
  EXPECT_EQ(search.best().module, first.module);
}

// A region of shard_map is the call to XLA, whatever else is written at its border, and groups of
// devices that the header does not count are refused.
TEST(Reduce, RegionsAndTheirDevicesStayWhole) {
  const Candidate first = Parse(
      R"(HloModule m, num_partitions=2, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["a"=2]>}}

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

body {
  x = f32[2,4]{1,0} parameter(0)
  n = f32[2,4]{1,0} negate(x)
  ROOT r = f32[2,4]{1,0} all-reduce(n), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=sum
}

ENTRY e {
  p = f32[4,4]{1,0} parameter(0)
  m = f32[4,4]{1,0} negate(p)
  g = f32[2,4]{1,0} custom-call(m), custom_call_target="xla.sdy.GlobalToLocalShape", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"a\"}, {}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"a\"}>"}
  c = f32[2,4]{1,0} call(g), to_apply=body
  l = f32[4,4]{1,0} custom-call(c), custom_call_target="xla.sdy.LocalToGlobalShape", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{\"a\"}, {}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"a\"}>"}
  ROOT t = f32[4,4]{1,0} tanh(l)
}
)");
  ASSERT_TRUE(IsTrueOfDevices(*first.module));
  const Candidate smallest = Reducer().Run(first, [](const Candidate& c) {
    return Count(c, Opcode::kAllReduce) == 1 && Count(c, Opcode::kCustomCall) > 0;
  });
  EXPECT_TRUE(IsTrueOfDevices(*smallest.module)) << TextOf(smallest);
  EXPECT_EQ(smallest.module->header().num_partitions, 2);
  EXPECT_EQ(Count(smallest, Opcode::kTanh) + Count(smallest, Opcode::kNegate), 0u);
}

// A window whose sum lost its first operand was what a difference of a sum was reduced to: of that
// platforms make what they like.
TEST(Reduce, CombinersKeepBothOperands) {
  const Candidate first = Parse(R"(HloModule m
sum {
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  wide.a = f32[] convert(a)
  wide.b = f32[] convert(b)
  both = f32[] add(wide.a, wide.b)
  ROOT s = bf16[] convert(both)
}
ENTRY e {
  x = bf16[8,32] parameter(0)
  zero = bf16[] constant(0)
  ROOT w = bf16[8,32] reduce-window(x, zero), window={size=1x32 pad=0_0x31_0}, to_apply=sum
}
)");
  Reducer reducer;
  const Candidate smallest =
      reducer.Run(first, [](const Candidate& c) { return Count(c, Opcode::kReduceWindow) == 1; });
  EXPECT_TRUE(CombinesBoth(*smallest.module)) << TextOf(smallest);
  EXPECT_EQ(Count(smallest, Opcode::kAdd), 1U) << TextOf(smallest);
  // One that never did may stay so.
  const Candidate second = Parse(R"(HloModule m
last {
  a = f32[] parameter(0)
  ROOT b = f32[] parameter(1)
}
ENTRY e {
  x = f32[8] parameter(0)
  zero = f32[] constant(0)
  ROOT r = f32[] reduce(x, zero), dimensions={0}, to_apply=last
}
)");
  EXPECT_FALSE(CombinesBoth(*second.module));
}

TEST(Literals, SimplerIsSimplerOnce) {
  const Literal integers = Literal::Of<int32_t>(Shape::Array(hlo::ElementType::kS32, {3}),
                                                std::vector<int32_t>{7, -9, 1});
  const Literal halved = *Simplified(integers, Simpler::kHalves);
  const auto halves = halved.data<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(halves.begin(), halves.end()), (std::vector<int32_t>{3, -4, 1}));
  EXPECT_FALSE(Simplified(integers, Simpler::kOneDigit));
  EXPECT_FALSE(Simplified(*Simplified(integers, Simpler::kOnes), Simpler::kOnes));
  EXPECT_FALSE(Simplified(*Simplified(integers, Simpler::kZeros), Simpler::kOnes));
  EXPECT_EQ(CountNonZeros(WithZeros(integers, 1, 3)), 1u);
}

}  // namespace
}  // namespace hloscope::debug
