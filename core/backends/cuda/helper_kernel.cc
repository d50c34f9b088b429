// Texts in PTX, for sm_80 and newer.
#include "core/backends/cuda/helper_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "core/backends/cuda/line_marks.h"
#include "core/backends/libraries/interface.h"

namespace hloscope::replay::cuda {
namespace {

constexpr unsigned kThreads = 256;  // of a block
constexpr const char* kHeader = ".version 7.0\n.target sm_80\n.address_size 64\n\n";

// %l1: the number of the thread among all. Needs %r1 to %r3 and %l2.
constexpr const char* kIndex = R"(  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mul.wide.u32 %l1, %r1, %r2;
  cvt.u64.u32 %l2, %r3;
  add.s64 %l1, %l1, %l2;
)";

constexpr const char* kScale =
    R"(.visible .entry scale(.param .u64 array, .param .u64 count, .param .@TYPE@ factor)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %l<6>;
  .reg .@TYPE@ %f<3>;
@INDEX@  ld.param.u64 %l3, [count];
  setp.ge.u64 %p1, %l1, %l3;
  @%p1 bra DONE;
  ld.param.u64 %l4, [array];
  cvta.to.global.u64 %l4, %l4;
  shl.b64 %l5, %l1, @SHIFT@;
  add.s64 %l4, %l4, %l5;
  ld.global.@TYPE@ %f1, [%l4];
  ld.param.@TYPE@ %f2, [factor];
  mul.rn.@TYPE@ %f1, %f1, %f2;
  st.global.@TYPE@ [%l4], %f1;
DONE:
  ret;
}
)";

constexpr const char* kTidy =
    R"(.visible .entry tidy(.param .u64 array, .param .u64 info, .param .u64 side, .param .u64 parts, .param .u64 lower)
{
  .reg .pred %p<6>;
  .reg .b32 %r<6>;
  .reg .b64 %l<16>;
  .reg .b@BITS@ %x<3>;
@INDEX@  ld.param.u64 %l3, [side];
  ld.param.u64 %l4, [parts];
  mul.lo.s64 %l5, %l3, %l3;
  mul.lo.s64 %l5, %l5, %l4;
  setp.ge.u64 %p1, %l1, %l5;
  @%p1 bra DONE;
  div.u64 %l6, %l1, %l4;
  rem.u64 %l7, %l1, %l4;
  div.u64 %l8, %l6, %l3;
  rem.u64 %l9, %l6, %l3;
  ld.param.u64 %l10, [array];
  cvta.to.global.u64 %l10, %l10;
  shl.b64 %l11, %l1, @SHIFT@;
  add.s64 %l10, %l10, %l11;
  mov.b@BITS@ %x1, 0;
  ld.param.u64 %l12, [info];
  cvta.to.global.u64 %l12, %l12;
  ld.global.u32 %r4, [%l12];
  setp.eq.u32 %p2, %r4, 0;
  @%p2 bra FACTOR;
  setp.ne.u64 %p3, %l7, 0;
  @%p3 bra STORE;
  mov.b@BITS@ %x1, @NAN@;
  bra STORE;
FACTOR:
  ld.param.u64 %l13, [lower];
  setp.eq.u64 %p4, %l13, 0;
  @%p4 bra UPPER;
  setp.le.u64 %p5, %l9, %l8;
  @%p5 bra DONE;
  bra STORE;
UPPER:
  setp.ge.u64 %p5, %l9, %l8;
  @%p5 bra DONE;
STORE:
  st.global.b@BITS@ [%l10], %x1;
DONE:
  ret;
}
)";

constexpr const char* kReorder =
    R"(.visible .entry reorder(.param .u64 from, .param .u64 to, .param .u64 count,
  .param .u64 n1, .param .u64 n2, .param .u64 n3, .param .u64 n4,
  .param .u64 s0, .param .u64 s1, .param .u64 s2, .param .u64 s3, .param .u64 s4)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %l<12>;
  .reg .@REGISTER@ %x<2>;
@INDEX@  ld.param.u64 %l3, [count];
  setp.ge.u64 %p1, %l1, %l3;
  @%p1 bra DONE;
  mov.u64 %l4, %l1;
  mov.u64 %l5, 0;
@DIVIDE@
  ld.param.u64 %l7, [s0];
  mul.lo.s64 %l6, %l4, %l7;
  add.s64 %l5, %l5, %l6;
  ld.param.u64 %l8, [from];
  cvta.to.global.u64 %l8, %l8;
  shl.b64 %l5, %l5, @SHIFT@;
  add.s64 %l8, %l8, %l5;
  ld.param.u64 %l9, [to];
  cvta.to.global.u64 %l9, %l9;
  shl.b64 %l1, %l1, @SHIFT@;
  add.s64 %l9, %l9, %l1;
  ld.global.@TYPE@ %x1, [%l8];
  st.global.@TYPE@ [%l9], %x1;
DONE:
  ret;
}
)";
// One dimension of it, from the innermost on.
constexpr const char* kDivide = R"(  ld.param.u64 %l7, [n@D@];
  rem.u64 %l6, %l4, %l7;
  div.u64 %l4, %l4, %l7;
  ld.param.u64 %l7, [s@D@];
  mul.lo.s64 %l6, %l6, %l7;
  add.s64 %l5, %l5, %l6;
)";

constexpr const char* kAccumulate =
    R"(.visible .entry @ENTRY@(.param .u64 to, .param .u64 from, .param .u64 count)
{
  .reg .pred %p<2>;
  .reg .b16 %h<3>;
  .reg .b32 %r<6>;
  .reg .b64 %l<8>;
  .reg .f32 %f<3>;
  .reg .f64 %d<3>;
@INDEX@  ld.param.u64 %l3, [count];
  setp.ge.u64 %p1, %l1, %l3;
  @%p1 bra DONE;
  shl.b64 %l1, %l1, @SHIFT@;
  ld.param.u64 %l4, [to];
  cvta.to.global.u64 %l4, %l4;
  add.s64 %l4, %l4, %l1;
  ld.param.u64 %l5, [from];
  cvta.to.global.u64 %l5, %l5;
  add.s64 %l5, %l5, %l1;
@STEPS@DONE:
  ret;
}
)";
// One step of it, by type of NCCL's; @OP@: what is done, of that type. Halves are computed as
// floats: rounded once more, sums and products of two are what they are at once.
struct AccumulatedType {
  int type;
  const char *name, *shift, *numbers, *steps;
};
constexpr const char* kBytes = R"(  ld.global.@TYPE@ %r4, [%l4];
  ld.global.@TYPE@ %r5, [%l5];
  @OP@ %r4, %r4, %r5;
  st.global.u8 [%l4], %r4;
)";
constexpr const char* kWords = R"(  ld.global.b32 %r4, [%l4];
  ld.global.b32 %r5, [%l5];
  @OP@ %r4, %r4, %r5;
  st.global.b32 [%l4], %r4;
)";
constexpr const char* kLongs = R"(  ld.global.b64 %l6, [%l4];
  ld.global.b64 %l7, [%l5];
  @OP@ %l6, %l6, %l7;
  st.global.b64 [%l4], %l6;
)";
constexpr const char* kF16s = R"(  ld.global.b16 %h1, [%l4];
  ld.global.b16 %h2, [%l5];
  cvt.f32.f16 %f1, %h1;
  cvt.f32.f16 %f2, %h2;
  @OP@ %f1, %f1, %f2;
  cvt.rn.f16.f32 %h1, %f1;
  st.global.b16 [%l4], %h1;
)";
constexpr const char* kBf16s = R"(  ld.global.u16 %r4, [%l4];
  ld.global.u16 %r5, [%l5];
  shl.b32 %r4, %r4, 16;
  shl.b32 %r5, %r5, 16;
  mov.b32 %f1, %r4;
  mov.b32 %f2, %r5;
  @OP@ %f1, %f1, %f2;
  cvt.rn.bf16.f32 %h1, %f1;
  st.global.b16 [%l4], %h1;
)";
constexpr const char* kF32s = R"(  ld.global.f32 %f1, [%l4];
  ld.global.f32 %f2, [%l5];
  @OP@ %f1, %f1, %f2;
  st.global.f32 [%l4], %f1;
)";
constexpr const char* kF64s = R"(  ld.global.f64 %d1, [%l4];
  ld.global.f64 %d2, [%l5];
  @OP@ %d1, %d1, %d2;
  st.global.f64 [%l4], %d1;
)";
constexpr AccumulatedType kAccumulated[] = {
    {libraries::kNcclS8, "s8", "0", "s32", kBytes},
    {libraries::kNcclU8, "u8", "0", "u32", kBytes},
    {libraries::kNcclS32, "s32", "2", "s32", kWords},
    {libraries::kNcclU32, "u32", "2", "u32", kWords},
    {libraries::kNcclS64, "s64", "3", "s64", kLongs},
    {libraries::kNcclU64, "u64", "3", "u64", kLongs},
    {libraries::kNcclF16, "f16", "1", "f32", kF16s},
    {libraries::kNcclBf16, "bf16", "1", "f32", kBf16s},
    {libraries::kNcclF32, "f32", "2", "f32", kF32s},
    {libraries::kNcclF64, "f64", "3", "f64", kF64s},
};
// By reduction of NCCL's: steps of integers and of floats, which it has no maximum and minimum of.
constexpr struct {
  const char *name, *integers, *floats;
} kAccumulating[] = {{"add", "add.", "add.rn."},
                     {"multiply", "mul.lo.", "mul.rn."},
                     {"maximum", "max.", nullptr},
                     {"minimum", "min.", nullptr}};

constexpr const char* kDecide =
    R"(.extern .func cudaGraphSetConditional(.param .b64 condition, .param .b32 value);

.visible .entry decide(.param .u64 condition, .param .u64 decision, .param .u64 turns)
{
  .reg .pred %p<2>;
  .reg .b16 %h<2>;
  .reg .b32 %r<2>;
  .reg .b64 %l<7>;
  .param .b64 set_condition;
  .param .b32 set_value;
  ld.param.u64 %l1, [condition];
  ld.param.u64 %l2, [decision];
  cvta.to.global.u64 %l2, %l2;
  ld.param.u64 %l3, [turns];
  cvta.to.global.u64 %l3, %l3;
  ld.global.u8 %h1, [%l2];
  setp.ne.u16 %p1, %h1, 0;
  selp.b32 %r1, 1, 0, %p1;
  ld.global.u64 %l4, [%l3];
  add.s64 %l4, %l4, 1;
  st.global.u64 [%l3], %l4;
  cvt.u64.u32 %l5, %r1;
  ld.global.u64 %l6, [%l3+8];
  add.s64 %l6, %l6, %l5;
  st.global.u64 [%l3+8], %l6;
  st.param.b64 [set_condition], %l1;
  st.param.b32 [set_value], %r1;
  call.uni cudaGraphSetConditional, (set_condition, set_value);
  ret;
}
)";

const AccumulatedType& AccumulatedRow(int type) {
  return *std::ranges::find(kAccumulated, type, &AccumulatedType::type);
}

// The text with each word in the place of its name.
std::string Filled(std::string text,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> words) {
  for (const auto& [name, word] : words) {
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += word.size()) {
      text.replace(at, name.size(), word);
    }
  }
  return text;
}

}  // namespace

std::string ScaleCode(bool is_double) {
  return Filled(kScale, {{"@INDEX@", kIndex},
                         {"@TYPE@", is_double ? "f64" : "f32"},
                         {"@SHIFT@", is_double ? "3" : "2"}});
}

std::string TidyCode(bool is_double) {
  return Filled(kTidy, {{"@INDEX@", kIndex},
                        {"@BITS@", is_double ? "64" : "32"},
                        {"@SHIFT@", is_double ? "3" : "2"},
                        {"@NAN@", is_double ? "0x7ff8000000000000" : "0x7fc00000"}});
}

std::string ReorderCode(int64_t bytes) {
  std::string divide;
  for (const char* const d : {"4", "3", "2", "1"}) divide += Filled(kDivide, {{"@D@", d}});
  return Filled(kReorder,
                {{"@INDEX@", kIndex},
                 {"@DIVIDE@", divide},
                 {"@REGISTER@", fmt::format("b{}", std::max<int64_t>(8 * bytes, 16))},
                 {"@TYPE@", fmt::format("b{}", 8 * bytes)},
                 {"@SHIFT@", std::to_string(std::countr_zero(static_cast<uint64_t>(bytes)))}});
}

std::string DecideCode() { return kDecide; }

std::string AccumulateEntry(int type, int reduction) {
  return fmt::format("accumulate_{}_{}", kAccumulating[reduction].name, AccumulatedRow(type).name);
}

std::string AccumulateCode(int type, int reduction) {
  const AccumulatedType& row = AccumulatedRow(type);
  const auto& how = kAccumulating[reduction];
  const std::string step =
      fmt::format("{}{}", row.numbers[0] == 'f' ? how.floats : how.integers, row.numbers);
  return Filled(kAccumulate, {{"@INDEX@", kIndex},
                              {"@ENTRY@", AccumulateEntry(type, reduction)},
                              {"@SHIFT@", row.shift},
                              {"@STEPS@", row.steps},
                              {"@TYPE@", type == libraries::kNcclS8 ? "s8" : "u8"},
                              {"@OP@", step}});
}

Result<HelperKernel> HelperKernel::Load(const std::shared_ptr<const Device>& device,
                                        const std::string& entry, const std::string& code,
                                        LinedCode* lined) {
  HelperKernel out;
  out.device_ = device;
  out.entry_ = entry;
  const std::string text = kHeader + code;
  if (lined == nullptr) {
    HLOSCOPE_ASSIGN_OR_RETURN(out.code_, LoadPtx(device, text));
  } else {
    std::vector<std::byte> cubin;
    HLOSCOPE_ASSIGN_OR_RETURN(out.code_, LoadPtxWithLines(device, WithLineMarks(text), cubin));
    lined->Name(entry, lined->Add(text, std::move(cubin)));
  }
  HLOSCOPE_TRY(device->driver().Check(
      device->driver()->ModuleGetFunction(&out.function_, out.code_.get(), entry.c_str()),
      "finding the kernel {}", entry));
  return out;
}

Status HelperKernel::Launch(StreamHandle stream, uint64_t threads,
                            std::span<void* const> parameters) const {
  const auto blocks = static_cast<unsigned>((threads - 1) / kThreads + 1);
  const unsigned block = threads == 1 ? 1 : kThreads;
  const Driver& driver = device_->driver();
  return driver.Check(driver->LaunchKernel(function_, blocks, 1, 1, block, 1, 1, 0, stream,
                                           const_cast<void**>(parameters.data()), nullptr),
                      "launching {}", entry_);
}

}  // namespace hloscope::replay::cuda
