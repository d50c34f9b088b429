// Tensor maps that kernels make and change, as Triton and CUTLASS do, and copies by them that
// reduce: what the PTX ISA says of them, worked out here, and the assembler for each text.
#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "core/ptx/machine/rounding.h"
#include "tests/ptx/assembled.h"

namespace hloscope::ptx {
namespace {

// What is replaced of the map at %r21, by one thread.
std::string Replaced(const std::string& field, const std::string& value, const char* type = "b32") {
  return fmt::format("@%p1 tensormap.replace.tile.{}.shared::cta.b1024.{} [%r21], {};\n", field,
                     type, value);
}
std::string ReplacedIn(const std::string& field, int dimension, const std::string& value,
                       const char* type = "b32") {
  return Replaced(field, fmt::format("{}, {}", dimension, value), type);
}

// Elements of the array and of a box's sides; the column from which a box has 5 in the array.
constexpr int kColumns = 24, kRows = 10, kBox = 8, kLast = 19;

// Shared memory: the box at %r20, the map at %r21, an mbarrier at %r22. The map, of 24 columns and
// 10 rows at %rd9, is made out of zeros, as Triton makes it, and lies at %rd10 then.
std::string MadeMap(int element, int bytes, int swizzle, const std::string& more = "",
                    int rows = kBox) {
  std::string text =
      "mov.b32 %r20, dyn;\nadd.s32 %r21, %r20, 512;\nadd.s32 %r22, %r20, 640;\n"
      "shl.b32 %r24, %r1, 2;\nadd.s32 %r23, %r21, %r24;\n"
      "mov.b32 %r25, 0;\nst.shared.b32 [%r23], %r25;\nbar.warp.sync -1;\n"
      "setp.eq.u32 %p1, %r1, 0;\n";
  text += Replaced("global_address", "%rd9", "b64") + Replaced("rank", "1");
  text += fmt::format(
      "mov.b32 %r26, {};\nmov.b32 %r27, {};\nmov.b32 %r28, {};\nmov.b32 %r29, 1;\nmov.b32 %r35, "
      "{};\n",
      kBox, kColumns, kRows, rows);
  text += ReplacedIn("box_dim", 0, "%r26") + ReplacedIn("box_dim", 1, "%r35");
  text += ReplacedIn("global_dim", 0, "%r27") + ReplacedIn("global_dim", 1, "%r28");
  text += fmt::format("mov.b64 %rd11, {};\n", kColumns * bytes);
  text += ReplacedIn("global_stride", 0, "%rd11", "b64");
  text += ReplacedIn("element_stride", 0, "%r29") + ReplacedIn("element_stride", 1, "%r29");
  text += Replaced("elemtype", fmt::format("{}", element)) + Replaced("interleave_layout", "0");
  text += Replaced("swizzle_mode", fmt::format("{}", swizzle)) + Replaced("fill_mode", "0") + more;
  return text +
         "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
         "[%rd10], [%r21], 128;\nfence.proxy.tensormap::generic.acquire.gpu [%rd10], 128;\n";
}

// A box to shared memory, out as it lies there; of a form and coordinates, of so many bytes.
std::string Loaded(const std::string& form, const std::vector<int>& coordinates, int bytes) {
  std::string text, registers;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    text += fmt::format("mov.b32 %r{}, {};\n", 40 + i, coordinates[i]);
    registers += fmt::format("{}%r{}", i == 0 ? "" : ", ", 40 + i);
  }
  return text +
         fmt::format(
             "@%p1 mbarrier.init.shared::cta.b64 [%r22], 1;\n"
             "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r22], {0};\n"
             "@%p1 cp.async.bulk.tensor.2d.{1}.mbarrier::complete_tx::bytes [%r20], "
             "[%rd10, {{{2}}}], [%r22];\nbar.sync 0;\nwait:\n"
             "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r22], 0;\n@!%p2 bra wait;\n"
             "mov.b32 %r32, %r24;\ncopy:\nadd.s32 %r33, %r20, %r32;\nld.shared.b32 %r34, [%r33];\n"
             "cvt.u64.u32 %rd12, %r32;\nadd.s64 %rd12, %rd3, %rd12;\nst.global.b32 [%rd12], %r34;\n"
             "add.s32 %r32, %r32, 128;\nsetp.lt.s32 %p2, %r32, {0};\n@%p2 bra copy;\n",
             bytes, form, registers);
}
std::string Loaded(int x, int y, int bytes) {
  return Loaded("shared::cta.global", {x, y}, kBox * kBox * bytes);
}

const std::string kArrayFirst = "mov.b64 %rd9, %rd1;\nmov.b64 %rd10, %rd2;\n";

TEST(PtxTensorMap, IsMadeByTheKernel) {
  std::vector<uint32_t> values(kColumns * kRows);
  std::iota(values.begin(), values.end(), 1u);
  LaunchOptions options;
  options.checks.race = options.checks.uninitialised = true;
  for (const int swizzle : {0, 1, 2, 3}) {
    for (const auto& [x, y] : {std::pair(0, 0), std::pair(kLast, 4), std::pair(-3, -2)}) {
      const std::string body = kArrayFirst + MadeMap(7, 4, swizzle) + Loaded(x, y, 4);
      ExpectAssembles(body, "sm_90a");
      const Ran ran =
          RunKernel(body, Bytes(values), std::vector<std::byte>(128), 256, 32, 1, options);
      ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
      EXPECT_TRUE(ran.result.findings.empty());
      const auto got = ran.As<uint32_t>(2);
      for (int row = 0; row < kBox; ++row) {
        for (int column = 0; column < kBox; ++column) {
          const int byte = row * 32 + column * 4, line = byte / 128;
          const int turn = line & ((1 << swizzle) - 1);  // of the chunks of 16 bytes
          const auto at = static_cast<size_t>((byte / 16 ^ turn) * 16 + byte % 16) / 4;
          const int r = y + row, c = x + column;
          const bool inside = r >= 0 && r < kRows && c >= 0 && c < kColumns;
          EXPECT_EQ(got[at], inside ? values[static_cast<size_t>(r * kColumns + c)] : 0u)
              << swizzle << ": " << row << " " << column;
        }
      }
    }
  }
}

// A copy of a map in shared memory is given another array, and goes back to where it was.
TEST(PtxTensorMap, GetsAnotherAddress) {
  std::vector<uint32_t> values(2 * kColumns * kRows);
  std::iota(values.begin(), values.end(), 1u);
  const std::string again = fmt::format(
      "add.s64 %rd13, %rd9, {};\n"
      "@%p1 tensormap.replace.tile.global_address.global.b1024.b64 [%rd10], %rd13;\n"
      "fence.proxy.tensormap::generic.acquire.gpu [%rd10], 128;\n",
      values.size() / 2 * 4);
  const std::string body = kArrayFirst + MadeMap(7, 4, 0) + again + Loaded(0, 0, 4);
  ExpectAssembles(body, "sm_90a");
  const Ran ran = RunKernel(body, Bytes(values), std::vector<std::byte>(128), 256);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_EQ(ran.As<uint32_t>(2)[0], values[values.size() / 2]);
}

// The box of the first argument into the second one; the map lies behind the third.
std::string Reduced(const std::string& operation, int element, int bytes,
                    const std::string& more = "") {
  return "mov.b64 %rd9, %rd2;\nmov.b64 %rd10, %rd3;\n" + MadeMap(element, bytes, 0, more) +
         fmt::format(
             "mov.b32 %r32, %r24;\nfill:\nadd.s32 %r33, %r20, %r32;\n"
             "cvt.u64.u32 %rd12, %r32;\nadd.s64 %rd12, %rd1, %rd12;\n"
             "ld.global.b32 %r34, [%rd12];\nst.shared.b32 [%r33], %r34;\n"
             "add.s32 %r32, %r32, 128;\nsetp.lt.s32 %p2, %r32, {};\n@%p2 bra fill;\n"
             "bar.sync 0;\nmov.b32 %r30, {};\nmov.b32 %r31, 1;\n"
             "@%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.{}.tile.bulk_group "
             "[%rd10, {{%r30, %r31}}], [%r20];\ncp.async.bulk.commit_group;\n"
             "cp.async.bulk.wait_group 0;\n",
             kBox * kBox * bytes, kLast, operation);
}

template <typename T>
void ExpectReduced(const std::string& operation, int element, const std::vector<T>& values,
                   const std::function<T(T, T)>& expected) {
  std::vector<T> box, array;
  for (size_t i = 0; i < kBox * kBox; ++i) box.push_back(values[i * 7 % values.size()]);
  for (size_t i = 0; i < kColumns * kRows; ++i) array.push_back(values[i * 5 % values.size()]);
  const std::string body = Reduced(operation, element, sizeof(T));
  ExpectAssembles(body, "sm_90a");
  const Ran ran = RunKernel(body, Bytes(box), Bytes(array), 128);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  std::vector<T> want = array;
  for (int row = 0; row < kBox; ++row) {
    for (int column = 0; column < kColumns - kLast; ++column) {
      T& at = want[static_cast<size_t>((1 + row) * kColumns + kLast + column)];
      at = expected(at, box[static_cast<size_t>(row * kBox + column)]);
    }
  }
  EXPECT_EQ(ran.As<T>(1), want) << operation << " " << element;
}

template <typename T>
T Least(T x, T y) {
  return std::min(x, y);
}
template <typename T>
T Most(T x, T y) {
  return std::max(x, y);
}
template <typename T>
T Sum(T x, T y) {
  return static_cast<T>(x + y);
}

TEST(PtxTensorMap, CopiesThatReduce) {
  const std::vector<uint32_t> u = {0, 1, 7, 0x80000001, 0xffffffff, 12, 7, 3};
  const std::vector<int32_t> s = {0, -1, 7, INT32_MIN, INT32_MAX, 12, -7};
  const std::vector<uint64_t> p = {0, 1, uint64_t{1} << 63, ~uint64_t{0}, 12345678901};
  const std::vector<int64_t> q = {0, -1, INT64_MIN, INT64_MAX, -12345678901};
  const std::vector<float> f = {0.5f, -1, 3, 0x1p-20f, 1e10f};
  const std::vector<double> d = {0.1, -1, 3e100, 0x1p-20};
  ExpectReduced<uint32_t>("add", 2, u, Sum<uint32_t>);
  ExpectReduced<uint32_t>("min", 2, u, Least<uint32_t>);
  ExpectReduced<uint32_t>("max", 2, u, Most<uint32_t>);
  ExpectReduced<uint32_t>("inc", 2, u, [](auto x, auto y) { return x >= y ? 0 : x + 1; });
  ExpectReduced<uint32_t>("dec", 2, u, [](auto x, auto y) { return x == 0 || x > y ? y : x - 1; });
  ExpectReduced<uint32_t>("and", 2, u, std::bit_and<uint32_t>());
  ExpectReduced<uint32_t>("or", 3, u, std::bit_or<uint32_t>());
  ExpectReduced<uint64_t>("xor", 4, p, std::bit_xor<uint64_t>());
  ExpectReduced<uint64_t>("add", 4, p, Sum<uint64_t>);
  ExpectReduced<uint64_t>("max", 4, p, Most<uint64_t>);
  ExpectReduced<int32_t>("min", 3, s, Least<int32_t>);
  ExpectReduced<int32_t>("max", 3, s, Most<int32_t>);
  ExpectReduced<int64_t>("min", 5, q, Least<int64_t>);
  ExpectReduced<int64_t>("max", 5, q, Most<int64_t>);
  ExpectReduced<float>("add", 7, f, Sum<float>);
  ExpectReduced<double>("add", 9, d, Sum<double>);
  // Of small integers the sums of halves are exact.
  for (const auto& [element, format] : {std::pair(6, kFormatF16), std::pair(10, kFormatBf16)}) {
    std::vector<uint16_t> halves;
    for (int i = 0; i < 7; ++i) halves.push_back(static_cast<uint16_t>(ToNarrow(i - 3, format)));
    const auto by = [&](auto combined) {
      return [=](uint16_t x, uint16_t y) {
        const auto number = [&](uint16_t bits) {
          return element == 6 ? HalfToFloat(bits) : Bf16ToFloat(bits);
        };
        return static_cast<uint16_t>(ToNarrow(combined(number(x), number(y)), format));
      };
    };
    ExpectReduced<uint16_t>("add", element, halves, by(Sum<float>));
    ExpectReduced<uint16_t>("min", element, halves, by(Least<float>));
    ExpectReduced<uint16_t>("max", element, halves, by(Most<float>));
  }
}

// Four rows of one array, in any order, one after the other in shared memory; and back.
TEST(PtxTensorMap, TakesChosenRows) {
  std::vector<uint32_t> values(kColumns * kRows);
  std::iota(values.begin(), values.end(), 1u);
  const std::vector<int> rows = {7, -1, 2, 2};
  for (const char* form :
       {"tile::gather4.shared::cluster.global", "shared::cta.global.tile::gather4"}) {
    for (const int swizzle : {0, 1}) {
      const std::string body = kArrayFirst + MadeMap(7, 4, swizzle, "", 1) +
                               Loaded(form, {kLast, rows[0], rows[1], rows[2], rows[3]}, 128);
      ExpectAssembles(body, "sm_100a");
      LaunchOptions options;
      options.checks.race = options.checks.uninitialised = true;
      const Ran ran = RunKernel(body, Bytes(values), std::vector<std::byte>(128), 128, 32, 1,
                                options, "sm_100a");
      ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
      EXPECT_TRUE(ran.result.findings.empty());
      const auto got = ran.As<uint32_t>(2);
      for (size_t i = 0; i < 4; ++i) {
        for (size_t column = 0; column < kBox; ++column) {
          // A line of 128 bytes has all four rows: its number is 0, so nothing is turned.
          const bool inside = rows[i] >= 0 && kLast + column < kColumns;
          EXPECT_EQ(got[i * kBox + column],
                    inside ? values[static_cast<size_t>(rows[i]) * kColumns + kLast + column] : 0u)
              << i << " " << column;
        }
      }
    }
  }
}

TEST(PtxTensorMap, GivesBackChosenRows) {
  std::vector<uint32_t> box(4 * kBox), array(kColumns * kRows, 1000);
  std::iota(box.begin(), box.end(), 1u);
  for (const std::string form : {"cp.async", "cp.reduce.async"}) {
    const bool adds = form == "cp.reduce.async";
    const std::string body =
        "mov.b64 %rd9, %rd2;\nmov.b64 %rd10, %rd3;\n" + MadeMap(2, 4, 0, "", 1) +
        "add.s32 %r33, %r20, %r24;\nadd.s64 %rd12, %rd1, %rd4;\nld.global.b32 %r34, [%rd12];\n"
        "st.shared.b32 [%r33], %r34;\nbar.sync 0;\nmov.b32 %r40, 2;\nmov.b32 %r41, 9;\n"
        "mov.b32 %r42, 0;\nmov.b32 %r43, 10;\nmov.b32 %r44, 5;\n@%p1 " +
        form + ".bulk.tensor.2d.global.shared::cta" + (adds ? ".add" : "") +
        ".tile::scatter4.bulk_group [%rd10, {%r40, %r41, %r42, %r43, %r44}], [%r20];\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
    ExpectAssembles(body, "sm_100a");
    const Ran ran = RunKernel(body, Bytes(box), Bytes(array), 128, 32, 1, {}, "sm_100a");
    ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
    std::vector<uint32_t> want = array;
    const size_t rows[] = {9, 0, 10, 5};  // the array has ten
    for (size_t i = 0; i < 4; ++i) {
      for (size_t column = 0; column < kBox && rows[i] < kRows; ++column) {
        uint32_t& at = want[rows[i] * kColumns + 2 + column];
        at = box[i * kBox + column] + (adds ? at : 0);
      }
    }
    EXPECT_EQ(ran.As<uint32_t>(1), want) << form;
  }
}

std::string FaultOf(const std::string& body) {
  const Ran ran = RunKernel(body, std::vector<std::byte>(1024), std::vector<std::byte>(2048), 128);
  return ran.result.fault.has_value() ? ran.result.fault->what : "";
}

TEST(PtxTensorMap, WhatItCannotSayIsAFault) {
  EXPECT_EQ(FaultOf(Reduced("max", 7, 4)),
            "a reduction that the type of the tensor map's elements does not have");
  EXPECT_EQ(FaultOf(Reduced("add", 11, 4)),
            "a reduction by a tensor map whose elements have no type that is reduced");
  EXPECT_EQ(FaultOf(Reduced("add", 7, 4, Replaced("swizzle_mode", "4"))),
            "a tensor map with a swizzle that is not executed");
  EXPECT_EQ(FaultOf(Reduced("add", 7, 4, Replaced("fill_mode", "1"))),
            "a tensor map that fills with NaN");
  EXPECT_EQ(FaultOf(Reduced("add", 7, 4, Replaced("interleave_layout", "1"))),
            "a tensor map with interleaving");
  EXPECT_EQ(FaultOf(Reduced("add", 7, 4, Replaced("elemtype", "13"))),
            "a tensor map of packed elements of 4 or 6 bits");
  EXPECT_EQ(FaultOf(Reduced("add", 7, 4, Replaced("rank", "5"))),
            "a tensor map of more than 5 dimensions");
  EXPECT_EQ(FaultOf(Reduced("add", 7, 4, ReplacedIn("global_stride", 4, "%rd11", "b64"))),
            "a field of a tensor map is replaced in a dimension that it does not have");
  // A map that cuTensorMapEncodeTiled would refuse: rows of 4 bytes.
  EXPECT_EQ(FaultOf(Reduced("add", 7, 4, ReplacedIn("box_dim", 0, "%r29"))),
            "there is no tensor map with this rank");
  EXPECT_EQ(FaultOf(kArrayFirst + MadeMap(7, 4, 0) +
                    Loaded("shared::cta.global.tile::gather4", {0, 1, 2, 3, 4}, 128)),
            "chosen rows by a map whose box has more than one");
  // Bytes that are no map.
  EXPECT_EQ(FaultOf("mov.b32 %r21, sh;\nst.shared.b32 [%r21], 5;\nsetp.eq.u32 %p1, %r1, 0;\n" +
                    Replaced("rank", "1")),
            "a field of a tensor map is replaced where there is none");
}

}  // namespace
}  // namespace hloscope::ptx
