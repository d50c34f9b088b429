// Values of 128 bits, matrices of bytes and copies that reduce: what the PTX ISA says of them,
// worked out here, and the assembler for each text where there is one.
#include <functional>

#include "core/ptx/checks/shadow_memory.h"
#include "tests/ptx/assembled.h"

namespace hloscope::ptx {
namespace {

// Each of 32 threads has 16 bytes of the first argument at %rd5 and of the result at %rd7.
const std::string kWide =
    ".reg .b128 %rq<9>;\nshl.b64 %rd8, %rd4, 2;\nadd.s64 %rd5, %rd1, %rd8;\n"
    "add.s64 %rd6, %rd2, %rd8;\nadd.s64 %rd7, %rd3, %rd8;\nmov.b32 %r2, sh;\n"
    "shl.b32 %r3, %r1, 4;\nadd.s32 %r3, %r2, %r3;\n";

std::vector<uint32_t> Words(uint32_t seed, size_t count = 128) {
  std::vector<uint32_t> words(count);
  for (uint32_t& word : words) word = seed = seed * 1664525 + 1013904223;
  return words;
}

std::vector<uint32_t> RunWide(const std::string& body, const std::string& target = "sm_90a") {
  ExpectAssembles(kWide + body, target);
  const Ran ran = RunKernel(kWide + body, Bytes(Words(1)), Bytes(Words(2)), 512, 32, 1, {}, target);
  EXPECT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  return ran.As<uint32_t>(2);
}

TEST(PtxWide, MovesAndLoads) {
  const std::vector<uint32_t> a = Words(1), b = Words(2);
  const std::string store = "st.global.b128 [%rd7], %rq1;\n";
  EXPECT_EQ(RunWide("ld.global.b128 %rq1, [%rd5];\n" + store), a);
  EXPECT_EQ(RunWide("ld.global.nc.b128 %rq0, [%rd5];\nmov.b128 %rq1, %rq0;\n" + store), a);
  EXPECT_EQ(RunWide("ld.acquire.sys.global.b128 %rq1, [%rd5];\nst.release.gpu.global.b128 [%rd7], "
                    "%rq1;\n"),
            a);
  EXPECT_EQ(RunWide("ld.b128 %rq0, [%rd5];\nst.shared.b128 [%r3], %rq0;\nbar.sync 0;\n"
                    "ld.shared.b128 %rq1, [%r3];\n" +
                    store),
            a);
  // Parts from the lowest on; of two and of four.
  EXPECT_EQ(
      RunWide("ld.global.v2.b64 {%rd10, %rd11}, [%rd5];\nmov.b128 %rq1, {%rd10, %rd11};\n" + store),
      a);
  EXPECT_EQ(RunWide("ld.global.b128 %rq0, [%rd5];\nmov.b128 {%r10, %r11, %r12, %r13}, %rq0;\n"
                    "st.global.v4.b32 [%rd7], {%r10, %r11, %r12, %r13};\n"),
            a);
  std::vector<uint32_t> swapped = a;
  for (size_t i = 0; i < a.size(); ++i) swapped[i] = a[i ^ 2];
  EXPECT_EQ(RunWide("ld.global.b128 %rq0, [%rd5];\nmov.b128 {%rd10, %rd11}, %rq0;\n"
                    "mov.b128 %rq1, {%rd11, %rd10};\n" +
                    store),
            swapped);
}

TEST(PtxWide, Atomics) {
  const std::vector<uint32_t> a = Words(1), b = Words(2);
  const std::string load =
      "ld.global.b128 %rq1, [%rd5];\nld.global.b128 %rq2, [%rd6];\n"
      "st.global.b128 [%rd7], %rq2;\n";
  // What was there goes where the new value came from.
  const std::string both = "st.global.b128 [%rd7], %rq3;\n";
  EXPECT_EQ(RunWide(load + "atom.global.exch.b128 %rq3, [%rd7], %rq1;\n"), a);
  EXPECT_EQ(RunWide(load + "atom.global.b128.exch %rq3, [%rd7], %rq1;\n" + both), b);
  EXPECT_EQ(RunWide(load + "atom.global.cas.b128 %rq3, [%rd7], %rq2, %rq1;\n"), a);
  EXPECT_EQ(RunWide(load + "atom.global.cas.b128 %rq3, [%rd7], %rq1, %rq1;\n"), b);
  EXPECT_EQ(RunWide(load +
                    "st.shared.b128 [%r3], %rq2;\natom.shared.exch.b128 %rq3, [%r3], %rq1;\n"
                    "ld.shared.b128 %rq3, [%r3];\n" +
                    both),
            a);
  const Ran ran = RunKernel(kWide + "ld.global.b128 %rq1, [%rd5+8];", Bytes(Words(1)), {}, 4);
  ASSERT_TRUE(ran.result.fault.has_value());
  EXPECT_EQ(ran.result.fault->what, "an address that is not a multiple of the 16 bytes accessed");
}

TEST(PtxWide, ChecksLookAtThem) {
  LaunchOptions options;
  options.checks.race = options.checks.uninitialised = true;
  const auto found = [&](const std::string& body) {
    const Ran ran = RunKernel(kWide + body, Bytes(Words(1, 256)), {}, 1024, 64, 1, options);
    EXPECT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
    return ran.result.findings.size();
  };
  const std::string stores = "ld.global.b128 %rq0, [%rd5];\nst.shared.b128 [%r3], %rq0;\n",
                    loads =
                        "xor.b32 %r4, %r3, 512;\nld.shared.b128 %rq1, [%r4];\n"
                        "st.global.b128 [%rd7], %rq1;\n";
  EXPECT_EQ(found(stores + "bar.sync 0;\n" + loads), 0u);
  EXPECT_EQ(found(stores + loads), 1u);
}

// 512 bytes of the argument lie in shared memory from %r2 on.
const std::string kShared =
    "mov.b32 %r2, sh;\nadd.s64 %rd5, %rd1, %rd4;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r3, %r2, %r3;\n"
    "ld.global.b32 %r10, [%rd5];\nst.shared.b32 [%r3], %r10;\nld.global.b32 %r10, [%rd5+128];\n"
    "st.shared.b32 [%r3+128], %r10;\nld.global.b32 %r10, [%rd5+256];\n"
    "st.shared.b32 [%r3+256], %r10;\nld.global.b32 %r10, [%rd5+384];\n"
    "st.shared.b32 [%r3+384], %r10;\nbar.sync 0;\nshl.b32 %r4, %r1, 4;\nadd.s32 %r4, %r2, %r4;\n"
    "shl.b64 %rd8, %rd4, 2;\nadd.s64 %rd7, %rd3, %rd8;\n";

// The row that lane `lane` names, widened.
uint32_t Element(const std::vector<std::byte>& memory, uint32_t lane, uint32_t column,
                 uint32_t bits) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < bits; ++i) {
    const uint32_t at = 128 * lane + column * bits + i;
    value |= (static_cast<uint32_t>(memory[at / 8]) >> at % 8 & 1) << i;
  }
  return value;
}

TEST(PtxWide, LoadsMatricesOfBytes) {
  const std::vector<std::byte> memory = Bytes(Words(1));
  const auto run = [&](const std::string& form, uint32_t registers) {
    const char* kVectors[] = {"", "{%r10}", "{%r10, %r11}", "", "{%r10, %r11, %r12, %r13}"};
    std::string body =
        kShared + "ldmatrix.sync.aligned." + form + " " + kVectors[registers] + ", [%r4];\n";
    for (uint32_t r = 0; r < registers; ++r) {
      body +=
          "st.global.b32 [%rd7+" + std::to_string(4 * r) + "], %r" + std::to_string(10 + r) + ";\n";
    }
    ExpectAssembles(body, "sm_100a");
    const Ran ran = RunKernel(body, memory, {}, 512, 32, 1, {}, "sm_100a");
    EXPECT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
    return ran.As<uint8_t>(2);
  };
  const std::pair<const char*, uint32_t> kFormats[] = {
      {"b8", 8}, {"b8x16.b6x16_p32", 6}, {"b8x16.b4x16_p64", 4}};
  for (const auto& [format, bits] : kFormats) {
    for (const uint32_t matrices : {1u, 2u}) {
      const auto got =
          run("m16n16.x" + std::to_string(matrices) + ".trans.shared." + format, 2 * matrices);
      for (uint32_t lane = 0; lane < 32; ++lane) {
        for (uint32_t r = 0; r < 2 * matrices; ++r) {
          for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t row = 16 * (r / 2) + lane % 4 * 4 + i, column = lane / 4 + r % 2 * 8;
            EXPECT_EQ(got[16 * lane + 4 * r + i], Element(memory, row, column, bits))
                << format << " lane " << lane << " register " << r;
          }
        }
      }
    }
    if (bits == 8) continue;
    for (const uint32_t matrices : {1u, 2u, 4u}) {
      const auto got = run("m8n16.x" + std::to_string(matrices) + ".shared." + format, matrices);
      for (uint32_t lane = 0; lane < 32; ++lane) {
        for (uint32_t r = 0; r < matrices; ++r) {
          for (uint32_t i = 0; i < 4; ++i)
            EXPECT_EQ(got[16 * lane + 4 * r + i],
                      Element(memory, 8 * r + lane / 4, lane % 4 * 4 + i, bits));
        }
      }
    }
  }
}

// Sums of a product, m16n8, of eight bits: columns lie in memory.
TEST(PtxWide, StoresMatricesOfBytes) {
  for (const uint32_t matrices : {1u, 2u, 4u}) {
    const char* kVectors[] = {"", "{%r10}", "{%r10, %r11}", "", "{%r10, %r11, %r12, %r13}"};
    const std::string body =
        "mov.b32 %r2, sh;\nshl.b64 %rd8, %rd4, 2;\nadd.s64 %rd5, %rd1, %rd8;\n"
        "add.s64 %rd7, %rd3, %rd8;\nshl.b32 %r4, %r1, 4;\nadd.s32 %r4, %r2, %r4;\n"
        "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd5];\nstmatrix.sync.aligned.m16n8.x" +
        std::to_string(matrices) + ".trans.shared.b8 [%r4], " + kVectors[matrices] +
        ";\nbar.sync 0;\nld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r4];\n"
        "st.global.v4.b32 [%rd7], {%r10, %r11, %r12, %r13};\n";
    ExpectAssembles(body, "sm_100a");
    const std::vector<std::byte> memory = Bytes(Words(1));
    const Ran ran = RunKernel(body, memory, {}, 512, 32, 1, {}, "sm_100a");
    ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
    const auto got = ran.As<uint8_t>(2);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t x = 0; x < matrices; ++x) {
        for (uint32_t e = 0; e < 4; ++e) {
          const uint32_t row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2;
          EXPECT_EQ(got[16 * (8 * x + column) + row],
                    static_cast<uint8_t>(memory[16 * lane + 4 * x + e]));
        }
      }
    }
  }
}

// Each thread takes two pieces, of 8 and of its own number of bytes, and gives the second back.
TEST(PtxWide, StackOfAThread) {
  const std::string body =
      "stacksave.u64 %rd10;\nalloca.u64 %rd11, 8;\nmul.wide.u32 %rd12, %r1, 16;\n"
      "add.u64 %rd12, %rd12, 4;\nstacksave.u64 %rd13;\nalloca.u64 %rd14, %rd12, 32;\n"
      "st.local.b32 [%rd11], %r1;\nst.local.b32 [%rd14], 7;\nst.local.b32 [%rd14+4], 9;\n"
      "and.b64 %rd15, %rd14, 31;\ncvt.u32.u64 %r2, %rd15;\nsub.u64 %rd16, %rd11, %rd14;\n"
      "setp.lt.u64 %p1, %rd16, %rd12;\nstackrestore.u64 %rd13;\nalloca.u64 %rd17, 4;\n"
      "sub.u64 %rd18, %rd11, %rd17;\ncvt.u32.u64 %r3, %rd18;\nld.local.b32 %r4, [%rd11];\n"
      "add.u32 %r4, %r4, %r2;\nselp.b32 %r5, 1000, 0, %p1;\nadd.u32 %r4, %r4, %r5;\n"
      "mad.lo.u32 %r4, %r3, 100, %r4;\nadd.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r4;";
  ExpectAssembles(body, "sm_90a");
  const Ran ran = RunKernel(body, {}, {}, 128);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  // The third piece lies eight bytes below the first, where the second one began.
  const auto got = ran.As<uint32_t>(2);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], 800 + i);
  const Ran over = RunKernel("alloca.u64 %rd11, 16385;", {}, {}, 4);
  ASSERT_TRUE(over.result.fault.has_value());
  EXPECT_EQ(over.result.fault->what,
            "alloca of more than the stack of a thread has, which is 16384 bytes here");
}

// On one device as ld, st and red; several are refused.
TEST(PtxWide, MultimemOnOneDevice) {
  const std::string body =
      kWide +
      "multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%r10, %r11, %r12, %r13}, [%rd5];\n"
      "multimem.st.weak.global.v4.f32 [%rd7], {%r10, %r11, %r12, %r13};\n"
      "multimem.ld_reduce.global.max.u32 %r14, [%rd6];\n"
      "multimem.red.relaxed.gpu.global.add.u32 [%rd7], %r14;\n";
  const std::vector<uint32_t> a = Words(1), b = Words(2);
  std::vector<uint32_t> expected = a;
  for (size_t i = 0; i < expected.size(); i += 4) expected[i] += b[i];
  EXPECT_EQ(RunWide(body.substr(kWide.size())), expected);
  const auto module = Module::Parse(KernelText(body), "k.ptx");
  ASSERT_TRUE(module.has_value());
  std::vector<std::byte> memory(512);
  LaunchRequest request;
  request.entry = "k";
  request.dynamic_shared_bytes = 1024;
  request.devices = 2;
  request.arguments = {{memory, {}}, {memory, {}}, {memory, {}}};
  const auto result = Launch(*module, request);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().error_class, ErrorClass::kUnsupported);
  EXPECT_NE(result.error().message.find("on 2 devices"), std::string::npos);
}

TEST(PtxWide, ZerosInShared) {
  const std::string body = kShared +
                           "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.bulk.weak.shared::cta [%r2], 64, 0;\n"
                           "bar.sync 0;\nld.shared.b32 %r10, [%r3];\nadd.s64 %rd7, %rd3, %rd4;\n"
                           "st.global.b32 [%rd7], %r10;\n";
  ExpectAssembles(body, "sm_100a");
  const Ran ran = RunKernel(body, Bytes(Words(1)), {}, 128, 32, 1, {}, "sm_100a");
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto got = ran.As<uint32_t>(2);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i < 16 ? 0 : Words(1)[i]);
}

// Shared memory has the first argument; the result starts as the second one.
template <typename T>
void ExpectReduced(const std::string& operation, const std::vector<T>& a, const std::vector<T>& b,
                   const std::function<T(T, T)>& expected, const std::string& type) {
  const std::string copy =
      "add.s64 %rd6, %rd2, %rd4;\nadd.s64 %rd9, %rd3, %rd4;\n"
      "ld.global.b32 %r11, [%rd6];\nst.global.b32 [%rd9], %r11;\nbar.sync 0;\n"
      "setp.eq.u32 %p1, %r1, 0;\n";
  const std::string body = kShared + copy +
                           "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group." + operation +
                           "." + type +
                           " [%rd3], [%r2], 128;\ncp.async.bulk.commit_group;\n"
                           "cp.async.bulk.wait_group 0;\n";
  ExpectAssembles(body, "sm_90a");
  std::vector<T> shared = a;
  shared.resize(512 / sizeof(T));
  const Ran ran = RunKernel(body, Bytes(shared), Bytes(b), 128);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto got = ran.As<T>(2);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], expected(b[i], a[i])) << operation;
}

TEST(PtxWide, CopiesThatReduce) {
  std::vector<float> f(32), g(32);
  std::vector<uint32_t> u = Words(5, 32), v = Words(6, 32);
  std::vector<int64_t> p(16), q(16);
  for (size_t i = 0; i < 32; ++i) {
    f[i] = static_cast<float>(i) / 4 - 3;
    g[i] = static_cast<float>(i * i);
    if (i % 3 == 0) v[i] = u[i];
  }
  for (size_t i = 0; i < 16; ++i) {
    p[i] = static_cast<int64_t>(i) - 8;
    q[i] = 4 - static_cast<int64_t>(i);
  }
  using U = uint32_t;
  ExpectReduced<float>("add", f, g, [](float x, float y) { return x + y; }, "f32");
  ExpectReduced<U>("add", u, v, [](U x, U y) { return x + y; }, "u32");
  ExpectReduced<U>("min", u, v, [](U x, U y) { return std::min(x, y); }, "u32");
  ExpectReduced<U>("max", u, v, [](U x, U y) { return std::max(x, y); }, "u32");
  ExpectReduced<U>("and", u, v, [](U x, U y) { return x & y; }, "b32");
  ExpectReduced<U>("or", u, v, [](U x, U y) { return x | y; }, "b32");
  ExpectReduced<U>("xor", u, v, [](U x, U y) { return x ^ y; }, "b32");
  ExpectReduced<U>("inc", u, v, [](U x, U y) { return x >= y ? 0 : x + 1; }, "u32");
  ExpectReduced<U>("dec", u, v, [](U x, U y) { return x == 0 || x > y ? y : x - 1; }, "u32");
  ExpectReduced<int64_t>("min", p, q, [](int64_t x, int64_t y) { return std::min(x, y); }, "s64");
  // Halves: integers, so that sums are exact.
  std::vector<uint16_t> h(64), k(64), sums(64);
  for (size_t i = 0; i < 64; ++i) {
    h[i] = 0x3c00;                                               // 1
    k[i] = static_cast<uint16_t>(i % 2 != 0 ? 0x4000 : 0x4200);  // 2, 3
  }
  ExpectReduced<uint16_t>(
      "add.noftz", h, k, [](uint16_t x, uint16_t) { return x == 0x4000 ? 0x4200 : 0x4400; }, "f16");
  ExpectReduced<uint16_t>("max", h, k, [](uint16_t x, uint16_t) { return x; }, "f16");
}

// To the shared memory of the block itself, with a barrier that is told of the bytes.
TEST(PtxWide, CopiesThatReduceInShared) {
  const std::string body =
      kShared +
      "setp.eq.u32 %p1, %r1, 0;\nst.shared.b32 [%r3+1024], %r1;\n"
      "@%p1 mbarrier.init.shared::cta.b64 [%r2+2048], 1;\nbar.sync 0;\n"
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+2048], 128;\nadd.u32 %r5, %r2, "
      "1024;\n@%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes."
      "add.u32 [%r5], [%r2], 128, [%r2+2048];\nwait:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2+2048], 0;\n@!%p2 bra wait;\n"
      "ld.shared.b32 %r10, [%r3+1024];\nadd.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r10;\n";
  ExpectAssembles(body, "sm_90a");
  LaunchOptions options;
  options.checks.race = options.checks.uninitialised = true;
  const Ran ran = RunKernel(body, Bytes(Words(1)), {}, 128, 32, 1, options);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_TRUE(ran.result.findings.empty());
  const auto got = ran.As<uint32_t>(2);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], Words(1)[i] + i);
}

}  // namespace
}  // namespace hloscope::ptx
