// Forms that few kernels have: the machine beside the second implementation on values that are easy
// to get wrong, the examples of the PTX ISA, and the assembler for each text where there is one.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "core/ptx/machine/rounding.h"
#include "core/ptx/reference/scalar_reference.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

// %r2, %r3, %r5 and %r6 hold edge values and random ones; %rd10 and %rd11 have two of them each,
// %rs1 to %rs3 the halves.
const std::string kLoad =
    "add.s64 %rd5, %rd1, %rd4;\nadd.s64 %rd6, %rd2, %rd4;\nadd.s64 %rd7, %rd3, %rd4;\n"
    "ld.global.b32 %r2, [%rd5];\nld.global.b32 %r3, [%rd6];\nld.global.b32 %r5, [%rd5+512];\n"
    "ld.global.b32 %r6, [%rd6+512];\nmov.b64 %rd10, {%r2, %r5};\nmov.b64 %rd11, {%r3, %r6};\n"
    "mov.b64 %rd12, {%r5, %r2};\nmov.b32 {%rs1, %rs2}, %r2;\nmov.b32 {%rs3, %rs4}, %r3;\n"
    "setp.lt.s32 %p5, %r6, 0;\n";

struct FormCase {
  const char* target;
  std::string text;
};

// Floats of 16 bits and fewer.
std::vector<FormCase> NarrowForms() {
  std::vector<FormCase> forms;
  const auto add = [&](const std::string& text) { forms.push_back({"sm_100a", text}); };
  for (const std::string modifier : {".ftz", ".ftz.sat"}) {
    for (const std::string operation : {"add", "sub", "mul", "add.rn"}) {
      add(operation + modifier + ".f16 %rs5, %rs1, %rs3;");
      add(operation + modifier + ".f16x2 %r4, %r2, %r3;");
    }
    add("fma.rn" + modifier + ".f16 %rs5, %rs1, %rs3, %rs4;");
    add("fma.rn" + modifier + ".f16x2 %r4, %r2, %r3, %r5;");
  }
  // As LLVM writes them.
  for (const std::string operation : {"add.rn", "sub.rz"})
    add(operation + ".sat.ftz.f32 %r4, %r2, %r3;");
  for (const std::string relu : {".relu", ".ftz.relu"}) {
    add("fma.rn" + relu + ".f16 %rs5, %rs1, %rs3, %rs4;");
    add("fma.rn" + relu + ".f16x2 %r4, %r2, %r3, %r5;");
  }
  add("fma.rn.relu.bf16x2 %r4, %r2, %r3, %r5;");
  for (const std::string operation : {"neg", "abs"}) {
    add(operation + ".ftz.f16 %rs5, %rs1;");
    add(operation + ".ftz.f16x2 %r4, %r2;");
  }
  for (const std::string mode : {"rn", "rz", "rm", "rp"}) {
    for (const std::string type : {"f16", "bf16"}) {
      add("cvt." + mode + "." + type + ".f32 %rs5, %r2;");
      add("cvt." + mode + "." + type + ".f64 %rs5, %rd10;");
    }
    add("cvt." + mode + ".f16.bf16 %rs5, %rs1;");
    add("cvt." + mode + ".bf16.f16 %rs5, %rs1;");
    add("shr.s32 %r4, %r2, 8;\ncvt." + mode + ".bf16.s32 %rs5, %r4;");
    add("cvt." + mode + "i.s32.f64 %r4, %rd10;");
    add("cvt." + mode + "i.u16.f64 %rs5, %rd10;");
    add("cvt." + mode + "i.s64.f32 %rd13, %r2;");
  }
  for (const std::string limit :
       {"", ".satfinite", ".relu", ".satfinite.relu", ".relu.satfinite"}) {
    for (const std::string mode : {"rn", "rz"}) {
      for (const std::string type : {"f16", "bf16"}) {
        add("cvt." + mode + limit + "." + type + ".f32 %rs5, %r2;");
        add("cvt." + mode + limit + "." + type + "x2.f32 %r4, %r2, %r3;");
      }
      add("cvt." + mode + limit + ".tf32.f32 %r4, %r2;");
    }
    for (const std::string type : {"f16x2", "bf16x2"})
      add("cvt.rs" + limit + "." + type + ".f32 %r4, %r2, %r3, %r5;");
    if (limit.find("satfinite") == std::string::npos) continue;
    for (const std::string type : {"e4m3", "e5m2", "e2m3", "e3m2"}) {
      add("cvt.rn" + limit + "." + type + "x2.f32 %rs5, %r2, %r3;");
      add("cvt.rs" + limit + "." + type + "x4.f32 %r4, {%r2, %r3, %r5, %r6}, %r5;");
      // Values that are within the bounds.
      add("and.b32 %r8, %r2, 0x81ffffff;\nor.b32 %r8, %r8, 0x3e000000;\n"
          "and.b32 %r9, %r3, 0x81ffffff;\nor.b32 %r9, %r9, 0x3c000000;\n"
          "cvt.rs" +
          limit + "." + type +
          "x4.f32 %r4, {%r8, %r9, %r9, %r8}, %r5;\n"
          "cvt.rn" +
          limit + "." + type + "x2.f32 %rs5, %r8, %r9;");
    }
    for (const std::string type : {"e4m3x2", "e5m2x2"})
      add("cvt.rn" + limit + "." + type + ".f16x2 %rs5, %r2;");
    add("cvt.rs" + limit + ".e2m1x4.f32 %rs5, {%r2, %r3, %r5, %r6}, %r5;");
    add("and.b32 %r8, %r2, 0x81ffffff;\nor.b32 %r8, %r8, 0x3e000000;\ncvt.rs" + limit +
        ".e2m1x4.f32 %rs5, {%r8, %r3, %r8, %r8}, %r5;");
    add(".reg .b8 %rb<2>;\ncvt.rn" + limit +
        ".e2m1x2.f32 %rb0, %r2, %r3;\n"
        "and.b32 %r8, %r2, 0x81ffffff;\nor.b32 %r8, %r8, 0x3e000000;\n"
        "cvt.rn" +
        limit + ".e2m1x2.f32 %rb1, %r8, %r8;");
    add(".reg .b8 %rb<2>;\ncvt.rn" + limit + ".e2m1x2.f16x2 %rb0, %r2;");
  }
  for (const std::string relu : {"", ".relu"}) {
    for (const std::string type : {"e4m3x2", "e5m2x2"})
      add("cvt.rn" + relu + ".f16x2." + type + " %r4, %rs1;");
    for (const std::string type : {"e2m3x2", "e3m2x2"})
      add("and.b16 %rs5, %rs1, 0x3f3f;\ncvt.rn" + relu + ".f16x2." + type + " %r4, %rs5;");
    add(".reg .b8 %rb<2>;\nmov.b16 {%rb0, %rb1}, %rs1;\ncvt.rn" + relu +
        ".f16x2.e2m1x2 %r4, %rb1;");
  }
  for (const std::string mode : {"rz", "rp", "rz.satfinite", "rp.satfinite"}) {
    add("cvt." + mode + ".ue8m0x2.f32 %rs5, %r2, %r3;");
    add("cvt." + mode + ".ue8m0x2.bf16x2 %rs5, %r2;");
  }
  add("cvt.rn.bf16x2.ue8m0x2 %r4, %rs1;");
  return forms;
}

std::vector<FormCase> ScalarForms() {
  std::vector<FormCase> forms;
  const auto add = [&](const std::string& text) { forms.push_back({"sm_90a", text}); };
  for (const std::string type : {"u32", "s32"}) {
    add("bfind." + type + " %r4, %r2;");
    add("bfind.shiftamt." + type + " %r4, %r2;");
    add("sad." + type + " %r4, %r2, %r3, %r5;");
    for (const std::string mode : {"clamp", "wrap"})
      add("and.b32 %r8, %r3, 63;\nszext." + mode + "." + type + " %r4, %r2, %r8;");
    for (const std::string other : {"u32", "s32"}) {
      add("dp4a." + type + "." + other + " %r4, %r2, %r3, %r5;");
      add("dp2a.lo." + type + "." + other + " %r4, %r2, %r3, %r5;");
      add("dp2a.hi." + type + "." + other + " %r4, %r2, %r3, %r5;");
    }
  }
  for (const std::string type : {"u64", "s64"}) {
    add("bfind." + type + " %r4, %rd10;");
    add("bfind.shiftamt." + type + " %r4, %rd10;");
    add("sad." + type + " %rd13, %rd10, %rd11, %rd12;");
  }
  for (const std::string type : {"u32", "s32"}) {
    for (const std::string half : {"lo", "hi"}) {
      add("mul24." + half + "." + type + " %r4, %r2, %r3;");
      add("mad24." + half + "." + type + " %r4, %r2, %r3, %r5;");
    }
  }
  add("mad24.hi.sat.s32 %r4, %r2, %r3, %r5;");
  add("mad.hi.sat.s32 %r4, %r2, %r3, %r5;");
  for (const std::string operation : {"min", "max"}) {
    add(operation + ".relu.s32 %r4, %r2, %r3;");
    add(operation + ".relu.s16x2 %r4, %r2, %r3;");
  }
  add("cnot.b16 %rs5, %rs1;");
  add("cnot.b32 %r4, %r2;");
  add("cnot.b64 %rd13, %rd10;");
  add("ldu.global.b32 %r4, [%rd5];");
  add("ldu.global.v4.f32 {%r4, %r10, %r11, %r12}, [%rd1];");
  add("sad.u16 %rs5, %rs1, %rs2, %rs3;");
  add("sad.s16 %rs5, %rs1, %rs2, %rs3;");
  for (const std::string mode : {"clamp", "wrap"}) {
    add("and.b32 %r8, %r2, 63;\nand.b32 %r9, %r3, 63;\nbmsk." + mode + ".b32 %r4, %r8, %r9;");
    add("bmsk." + mode + ".b32 %r4, %r2, %r3;");
  }
  add("and.b32 %r8, %r3, 31;\nshr.s32 %r9, %r5, 27;\nfns.b32 %r4, %r2, %r8, %r9;");
  for (const std::string mode : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
    add("prmt.b32." + mode + " %r4, %r2, %r3, %r5;");
  for (const std::string with : {"and", "or", "xor"}) {
    if (with != "xor") {
      add("lop3." + with + ".b32 %r4|%p1, %r2, %r3, %r5, 0x96, %p5;");
      add("lop3." + with + ".b32 %r4|%p1, %r2, %r3, %r5, 0x80, !%p5;");
    }
    add("setp.lt." + with + ".f16x2 %p1|%p2, %r2, %r3, %p5;");
    add("set.ge." + with + ".u32.s32 %r4, %r2, %r3, !%p5;");
  }
  add("lop3.or.b32 _|%p1, %r2, %r3, %r5, 0x80, %p5;");
  for (const std::string type : {"u16", "s16"}) add("cvt.pack.sat." + type + ".s32 %r4, %r2, %r3;");
  for (const std::string type : {"u8", "s8", "u4", "s4"})
    add("cvt.pack.sat." + type + ".s32.b32 %r4, %r2, %r3, %r5;");
  add("shr.s32 %r8, %r2, 20;\nshr.s32 %r9, %r3, 24;\ncvt.pack.sat.s8.s32.b32 %r4, %r8, %r9, %r5;");
  // A cluster of one block.
  add("mov.u32 %r4, %cluster_ctarank;\nmov.u32 %r8, %cluster_nctarank;\nmov.u32 %r9, "
      "%cluster_nctaid.y;\nmov.u32 %r10, %clusterid.x;\nmov.u32 %r11, %nclusterid.z;");
  add("mapa.shared::cluster.u32 %r4, %r2, 0;\nmapa.u64 %rd13, %rd1, 0;");
  add("getctarank.shared::cluster.u32 %r4, %r2;");
  // Products: on sums of any bits, by fragments of any bits.
  const std::string d4 = "{%r4, %r10, %r11, %r12}, ", d2 = "{%r4, %r10}, ",
                    a4 = "{%r2, %r3, %r5, %r6}, ", a2 = "{%r2, %r3}, ", b2 = "{%r5, %r2}, ",
                    b1 = "{%r6}, ", c4 = "{%r3, %r5, %r2, %r6};", c2 = "{%r3, %r5};";
  const auto mma = [&](const std::string& shape, const std::string& operands) {
    add("mma.sync.aligned." + shape + " " + operands);
  };
  for (const std::string a : {"e4m3", "e5m2"}) {
    for (const std::string b : {"e4m3", "e5m2"}) {
      const std::string types = "." + a + "." + b + ".";
      mma("m16n8k32.row.col.f32" + types + "f32", d4 + a4 + b2 + c4);
      mma("m16n8k16.row.col.f32" + types + "f32", d4 + a2 + b1 + c4);
      mma("m16n8k32.row.col.f16" + types + "f16", d2 + a4 + b2 + c2);
      mma("m16n8k16.row.col.f16" + types + "f16", d2 + a2 + b1 + c2);
    }
  }
  mma("m16n8k8.row.col.f16.f16.f16.f16", d2 + a2 + b1 + c2);
  mma("m8n8k16.row.col.s32.s8.u8.s32", d2 + b1 + b1 + c2);
  mma("m8n8k32.row.col.satfinite.s32.s4.u4.s32", d2 + b1 + b1 + c2);
  mma("m16n8k32.row.col.s32.u4.s4.s32", d4 + a2 + b1 + c4);
  mma("m16n8k64.row.col.satfinite.s32.s4.s4.s32", d4 + a4 + b2 + c4);
  const std::string doubles = "{%rd13, %rd14, %rd15, %rd16}, ",
                    sums = "{%rd10, %rd12, %rd11, %rd10};";
  mma("m16n8k4.row.col.f64.f64.f64.f64", doubles + "{%rd10, %rd11}, {%rd12}, " + sums);
  mma("m16n8k8.row.col.f64.f64.f64.f64",
      doubles + "{%rd10, %rd11, %rd12, %rd11}, {%rd12, %rd10}, " + sums);
  mma("m16n8k16.row.col.f64.f64.f64.f64",
      doubles +
          "{%rd10, %rd11, %rd12, %rd11, %rd10, %rd10, %rd12, %rd11}, {%rd12, %rd10, %rd11, "
          "%rd12}, " +
          sums);
  for (const std::string type : {"u32", "s32", "b32"})
    add("slct." + type + ".s32 %r4, %r2, %r3, %r5;");
  add("slct.f32.f32 %r4, %r2, %r3, %r5;");
  add("slct.ftz.f32.f32 %r4, %r2, %r3, %r5;");
  add("slct.b64.s32 %rd13, %rd10, %rd11, %r5;");
  add("slct.u16.s32 %rs5, %rs1, %rs2, %r5;");
  for (const std::string kind :
       {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    add("testp." + kind + ".f32 %p1, %r2;");
    add("testp." + kind + ".f64 %p1, %rd10;");
  }
  for (const std::string compare : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu",
                                    "gtu", "geu", "num", "nan"}) {
    add("set." + compare + ".u32.f32 %r4, %r2, %r3;");
    add("set." + compare + ".f16x2.f16x2 %r4, %r2, %r3;");
    add("setp." + compare + ".bf16x2 %p1|%p2, %r2, %r3;");
  }
  for (const std::string compare : {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"})
    add("set." + compare + ".s32.u32 %r4, %r2, %r3;");
  add("set.lt.f32.s32 %r4, %r2, %r3;");
  add("set.lt.ftz.f32.f32 %r4, %r2, %r3;");
  add("set.gt.u32.f64 %r4, %rd10, %rd11;");
  add("set.gt.s32.s64 %r4, %rd10, %rd11;");
  add("set.lt.f16.f16 %rs5, %rs1, %rs3;");
  add("set.lt.ftz.f16.f16 %rs5, %rs1, %rs3;");
  add("set.lt.u16.f16 %rs5, %rs1, %rs3;");
  add("set.ltu.s16.bf16 %rs5, %rs1, %rs3;");
  add("set.lt.u32.bf16 %r4, %rs1, %rs3;");
  add("set.gt.bf16.s32 %rs5, %r2, %r3;");
  add("set.gt.f16.f32 %rs5, %r2, %r3;");
  add("set.eq.u32.f16x2 %r4, %r2, %r3;");
  add("set.geu.s32.bf16x2 %r4, %r2, %r3;");
  add("set.equ.bf16x2.bf16x2 %r4, %r2, %r3;");
  add("setp.lt.ftz.f16 %p1, %rs1, %rs3;");
  add("setp.lt.ftz.f16x2 %p1|%p2, %r2, %r3;");
  for (const std::string operation : {"min", "max"}) {
    add(operation + ".xorsign.abs.f32 %r4, %r2, %r3;");
    add(operation + ".ftz.NaN.xorsign.abs.f32 %r4, %r2, %r3;");
    add(operation + ".xorsign.abs.f16 %rs5, %rs1, %rs3;");
    add(operation + ".ftz.NaN.xorsign.abs.f16x2 %r4, %r2, %r3;");
    add(operation + ".NaN.xorsign.abs.bf16x2 %r4, %r2, %r3;");
    add(operation + ".ftz.f16 %rs5, %rs1, %rs3;");
    add(operation + ".ftz.NaN.f16x2 %r4, %r2, %r3;");
    forms.push_back({"sm_100a", operation + ".NaN.abs.f32 %r4, %r2, %r3, %r5;"});
  }
  add("createpolicy.fractional.L2::evict_last.b64 %rd13, 1.0;");
  add("createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %rd13, 0.5;");
  add("createpolicy.fractional.L2::evict_first.b64 %rd13;");
  add("createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd13, [%rd1], 0x100, "
      "0x200;");
  add("createpolicy.cvt.L2.b64 %rd13, 0x1000000000000000;");
  // Told to the cache: values as without.
  const std::string policy = "createpolicy.fractional.L2::evict_last.b64 %rd13, 1.0;\n";
  add(policy + "ld.global.L1::evict_last.L2::cache_hint.v2.b32 {%r4, %r8}, [%rd1], %rd13;");
  add(policy + "ld.global.nc.L2::cache_hint.L2::128B.b32 %r4, [%rd5], %rd13;");
  add(policy + "st.global.L2::cache_hint.b32 [%rd7], %r2, %rd13;");
  add(policy + "atom.global.add.L2::cache_hint.u32 %r4, [%rd3], %r2, %rd13;");
  add(policy + "red.global.add.L2::cache_hint.u32 [%rd3], %r2, %rd13;");
  add(policy +
      "shl.b32 %r8, %r1, 4;\ncp.async.cg.shared.global.L2::cache_hint [sh], [%rd1], 16, "
      "%rd13;\ncp.async.wait_all;\nld.shared.b32 %r4, [sh];");
  add(policy +
      "cp.async.ca.shared.global.L2::cache_hint.L2::128B [sh], [%rd1], 8, 4, %rd13;\n"
      "cp.async.wait_all;\nld.shared.v2.b32 {%r4, %r8}, [sh];");
  add(policy +
      "setp.eq.u32 %p1, 0, 0;\ncp.async.ca.shared.global.L2::cache_hint [sh], [%rd1], 4, "
      "%p1, %rd13;\ncp.async.wait_all;\nld.shared.b32 %r4, [sh];");
  for (const char* nothing :
       {"prefetch.global.L1 [%rd1];", "prefetch.L2 [%rd1];",
        "prefetch.global.L2::evict_last [%rd1];", "prefetch.global.L2::evict_normal [%rd1];",
        "prefetchu.L1 [%rd1];", "discard.global.L2 [%rd1], 128;",
        "applypriority.global.L2::evict_normal [%rd1], 128;",
        "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%rd1, {%r1}];",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
        "cp.async.bulk.prefetch.L2.global [%rd1], 16;", "nanosleep.u32 100;", "nanosleep.u32 %r1;",
        "pmevent 1;", "pmevent.mask 3;", "barrier.cta.sync.aligned 1, 64;", "bar.cta.sync 1;"})
    add(nothing);
  forms.push_back({"sm_100a",
                   "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%rd1, {%r1, %r1, "
                   "%r1, %r1, %r1}];"});
  for (const std::string where : {"release.gpu.global", "mmio.release.sys.global"})
    forms.push_back(
        {"sm_100a", "st.async." + where + ".b32 [%rd5], %r3;\nld.global.b32 %r4, [%rd5];"});
  // Of all lanes.
  add("and.b32 %r8, %r2, 3;\nmatch.any.sync.b32 %r4, %r8, -1;");
  add("match.any.sync.b64 %r4, %rd10, -1;");
  add("match.all.sync.b32 %r4|%p1, %r2, -1;");
  add("shr.u32 %r8, %r1, 5;\nmatch.all.sync.b32 %r4|%p1, %r8, -1;");
  add("mov.b64 %rd13, 77;\nmatch.all.sync.b64 %r4, %rd13, -1;");
  add("movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r2;");
  for (FormCase& form : NarrowForms()) forms.push_back(std::move(form));
  // Vectors that each element of is changed by itself; all threads change the same ones.
  const std::string quads = "and.b64 %rd13, %rd4, 16;\nadd.s64 %rd13, %rd3, %rd13;\n";
  const std::string f32 = "{%r2, %r3, %r5, %r6}", d32 = "{%r10, %r11, %r12, %r13}";
  const std::string f16 = "{%rs1, %rs2, %rs3, %rs4, %rs2, %rs3, %rs1, %rs4}",
                    d16 = "{%rs5, %rs6, %rs7, %rs8, %rs9, %rs10, %rs11, %rs12}";
  add(quads + "atom.global.v4.f32.add " + d32 + ", [%rd13], " + f32 + ";");
  add(quads + "atom.global.add.v4.f32 " + d32 + ", [%rd13], " + f32 + ";");
  add(quads + "atom.global.v2.f32.add {%r10, %r11}, [%rd13], {%r2, %r3};");
  add(quads + "atom.relaxed.gpu.global.add.noftz.v8.f16 " + d16 + ", [%rd13], " + f16 + ";");
  add(quads + "atom.global.v8.bf16.add.noftz " + d16 + ", [%rd13], " + f16 + ";");
  add(quads + "atom.global.max.noftz.v2.bf16 {%rs5, %rs6}, [%rd13], {%rs1, %rs2};");
  add(quads + "atom.global.min.noftz.v4.f16x2 " + d32 + ", [%rd13], " + f32 + ";");
  add(quads + "atom.global.max.noftz.v2.bf16x2 {%r10, %r11}, [%rd13], {%r2, %r3};");
  add(quads + "red.global.add.v4.f32 [%rd13], " + f32 + ";");
  add(quads + "red.global.v2.f32.add [%rd13], {%r2, %r3};");
  add(quads + "red.release.gpu.global.add.noftz.v4.bf16 [%rd13], {%rs1, %rs2, %rs3, %rs4};");
  add(quads + "red.global.max.noftz.v2.f16x2 [%rd13], {%r2, %r3};");
  add(policy + "red.global.add.noftz.L2::cache_hint.v2.bf16x2 [%rd3], {%r2, %r3}, %rd13;");
  return forms;
}

// Edge values of integers and of floats of all widths, then random ones.
std::vector<uint32_t> Edges(uint32_t seed) {
  std::vector<uint32_t> values = {
      0,          1,          2,          31,         32,         33,         63,
      0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0x0000ffff, 0x12345678,
      0x3f800000, 0xbf800000, 0x007fffff, 0x807fffff, 0x00800000, 0x7f7fffff, 0x7f800000,
      0xff800000, 0x7fc00000, 0x3c003c00, 0x7e007c00, 0x83ff0001, 0x0400fc00, 0x3f80bf80,
      0x7f807fc0, 0x00808001, 0xaaaaaaaa, 0x55555555, 0x7ff00000, 0xfff80000, 0x000fffff};
  std::mt19937 random(seed);
  while (values.size() < 256) values.push_back(static_cast<uint32_t>(random()));
  std::ranges::shuffle(values, random);
  return values;
}

TEST(PtxForms, AgreeWithTheSecondImplementation) {
  for (const FormCase& form : ScalarForms()) {
    const auto module = Module::Parse(KernelText(kLoad + form.text, form.target), "k.ptx");
    ASSERT_TRUE(module.has_value()) << form.text << module.error().ToString();
    std::vector<std::byte> memory[3] = {Bytes(Edges(1)), Bytes(Edges(2)), Bytes(Edges(3))};
    LaunchRequest launch;
    launch.entry = "k";
    launch.block = {64, 1, 1};
    launch.dynamic_shared_bytes = 1024;
    for (auto& bytes : memory) launch.arguments.push_back({bytes, {}});
    const auto report = RunScalarReference(*module, launch, {}, {});
    ASSERT_TRUE(report.has_value()) << form.text << "\n" << report.error().ToString();
    EXPECT_TRUE(report->agrees()) << form.text << "\n"
                                  << (report->first ? report->first->what : "")
                                  << (report->missing ? report->missing->ToString() : "")
                                  << (report->fault ? report->fault->ToString() : "");
    EXPECT_GT(report->checked, 500u);
  }
}

uint32_t One(const std::string& text, uint32_t a = 0, uint32_t b = 0) {
  return RunOn32(text, {a}, {b}).front();
}

// Examples and tables of the PTX ISA, and numbers worked out by hand.
TEST(PtxForms, ExamplesOfTheManual) {
  EXPECT_EQ(One("fns.b32 %r4, 0xaaaaaaaa, 3, 1;"), 3u);
  EXPECT_EQ(One("fns.b32 %r4, 0xaaaaaaaa, 3, -1;"), 3u);
  EXPECT_EQ(One("fns.b32 %r4, 0xaaaaaaaa, 2, 1;"), 3u);
  EXPECT_EQ(One("fns.b32 %r4, 0xaaaaaaaa, 2, -1;"), 1u);
  EXPECT_EQ(One("fns.b32 %r4, 0xaaaaaaaa, 0, 17;"), 0xffffffffu);
  EXPECT_EQ(One("bmsk.wrap.b32 %r4, 1, 2;"), 6u);
  EXPECT_EQ(One("bmsk.clamp.b32 %r4, 4, 40;"), 0xfffffff0u);
  EXPECT_EQ(One("bmsk.clamp.b32 %r4, 40, 4;"), 0u);
  EXPECT_EQ(One("bmsk.wrap.b32 %r4, 7, 0;"), 0u);
  EXPECT_EQ(One("szext.wrap.u32 %r4, 0xffffffff, 0;"), 0u);
  EXPECT_EQ(One("szext.clamp.s32 %r4, %r2, 4;", 0x18), 0xfffffff8u);
  EXPECT_EQ(One("bfind.s32 %r4, -1;"), 0xffffffffu);
  EXPECT_EQ(One("bfind.s32 %r4, -256;"), 7u);
  EXPECT_EQ(One("bfind.shiftamt.u32 %r4, 1;"), 31u);
  EXPECT_EQ(One("sad.s32 %r4, -5, 7, 100;"), 112u);
  // (-1)·1 + 2·2 + (-3)·3 + 4·4 + 5, and unsigned 255·1 + …
  EXPECT_EQ(One("dp4a.s32.s32 %r4, %r2, %r3, 5;", 0x04fd02ff, 0x04030201), 15u);
  EXPECT_EQ(One("dp4a.u32.u32 %r4, %r2, %r3, 5;", 0x04fd02ff, 0x04030201), 1039u);
  // -2·3 + 7·(-1), by bytes 2 and 3 of b.
  EXPECT_EQ(One("dp2a.hi.s32.s32 %r4, %r2, %r3, 0;", 0x0007fffe, 0xff030505), 0xfffffff3u);
  EXPECT_EQ(One("prmt.b32.f4e %r4, %r2, %r3, 1;", 0x33221100, 0x77665544), 0x44332211u);
  EXPECT_EQ(One("prmt.b32.b4e %r4, %r2, %r3, 1;", 0x33221100, 0x77665544), 0x66770011u);
  EXPECT_EQ(One("prmt.b32.ecr %r4, %r2, %r3, 2;", 0x33221100, 0x77665544), 0x22221100u);
  EXPECT_EQ(One("max.xorsign.abs.f32 %r4, %r2, %r3;", std::bit_cast<uint32_t>(-3.0f),
                std::bit_cast<uint32_t>(2.0f)),
            std::bit_cast<uint32_t>(-3.0f));
  EXPECT_EQ(One("testp.normal.f32 %p1, %r2;\nselp.b32 %r4, 1, 0, %p1;", 0x80000000), 1u);
  EXPECT_EQ(One("set.lt.u32.f32 %r4, %r2, %r3;", 0, 0x3f800000), 0xffffffffu);
  EXPECT_EQ(One("set.lt.f32.s32 %r4, %r2, %r3;", 0, 1), 0x3f800000u);
  EXPECT_EQ(One("slct.b32.f32 %r4, 1, 2, %r2;", 0x80000000), 1u);  // -0 counts as 0
  EXPECT_EQ(One("slct.b32.f32 %r4, 1, 2, %r2;", 0x7fc00000), 2u);
  // Four and six bits: 1.25 is a tie of e2m1, 100 and a NaN are the largest.
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  const auto narrow = [&](const std::string& form, float a, float b) {
    return One(".reg .b8 %rb<2>;\n" + form, bits(a), bits(b));
  };
  const std::string to_e2m1 = "cvt.rn.satfinite.e2m1x2.f32 %rb0, %r2, %r3;\ncvt.u32.u8 %r4, %rb0;";
  EXPECT_EQ(narrow(to_e2m1, 1.25f, -100.0f), 0x2fu);
  EXPECT_EQ(narrow(to_e2m1, NAN, -0.3f), 0x79u);
  const std::string to_e2m3 = "cvt.rn.satfinite.e2m3x2.f32 %rs5, %r2, %r3;\ncvt.u32.u16 %r4, %rs5;";
  EXPECT_EQ(narrow(to_e2m3, 7.5f, -0.125f), 0x1f21u);
  EXPECT_EQ(narrow("cvt.rp.ue8m0x2.f32 %rs5, %r2, %r3;\ncvt.u32.u16 %r4, %rs5;", 3.0f, 0.0f),
            0x8100u);
  EXPECT_EQ(narrow("cvt.rz.ue8m0x2.f32 %rs5, %r2, %r3;\ncvt.u32.u16 %r4, %rs5;", 3.0f, -1.0f),
            0x807fu);
  // A bf16 goes up where the random bits and the sixteen cut off carry.
  EXPECT_EQ(One("cvt.rs.bf16x2.f32 %r4, %r2, %r3, 0x7fff8000;", 0x3f808000, 0x3f808000),
            0x3f803f81u);
  EXPECT_EQ(One("mov.b64 %rd10, {0, %r2};\ncvt.rzi.s32.f64 %r4, %rd10;", 0x7ff80000), 0x80000000u);
  EXPECT_EQ(One("cvt.rzi.s32.f32 %r4, %r2;", 0x7fc00000), 0u);
  EXPECT_EQ(One("mov.u32 %r4, %nwarpid;"), 64u);
  EXPECT_EQ(One("mov.u32 %r4, %dynamic_smem_size;"), 1024u);
  EXPECT_EQ(One("mov.u32 %r4, %total_smem_size;"), 4096u + 1024u);
}

TEST(PtxForms, SpacesOfAddresses) {
  const auto is = [](const std::string& space, const std::string& address) {
    return One(address + "isspacep." + space + " %p1, %rd10;\nselp.b32 %r4, 1, 0, %p1;") == 1;
  };
  const std::string global = "mov.b64 %rd10, %rd1;\n",
                    shared = "mov.b64 %rd11, sh;\ncvta.shared.u64 %rd10, %rd11;\n",
                    param = "mov.b64 %rd11, k_1;\ncvta.param.u64 %rd10, %rd11;\n";
  EXPECT_TRUE(is("global", global) && !is("shared", global) && !is("local", global));
  EXPECT_TRUE(is("shared", shared) && is("shared::cta", shared) && is("shared::cluster", shared));
  EXPECT_FALSE(is("global", shared) || is("const", shared) || is("param", shared));
  EXPECT_TRUE(is("param", param) && is("global", param));
}

// Eight threads of one warp add to four floats; integers, so that the order is no matter.
TEST(PtxForms, VectorsOfAtomics) {
  const std::string body =
      "cvt.rn.f32.u32 %r2, %r1;\nmul.rn.f32 %r3, %r2, 0f40000000;\nneg.f32 %r5, %r2;\n"
      "mov.b32 %r6, 0f3f800000;\natom.global.v4.f32.add {%r10, %r11, %r12, %r13}, [%rd1], {%r2, "
      "%r3, %r5, %r6};\nshl.b64 %rd5, %rd4, 2;\nadd.s64 %rd5, %rd3, %rd5;\nst.global.v4.b32 "
      "[%rd5], {%r10, %r11, %r12, %r13};";
  const Ran ran = RunKernel(body, Bytes(std::vector<float>{1, 2, 3, 4}), {}, 128, 8);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  EXPECT_EQ(ran.As<float>(0), (std::vector<float>{29, 58, -25, 12}));
  // What was there before: by lanes.
  const auto old = ran.As<float>(2);
  for (uint32_t lane = 0; lane < 8; ++lane) {
    const auto below = static_cast<float>(lane * (lane - 1) / 2);
    EXPECT_EQ(old[4 * lane], 1 + below);
    EXPECT_EQ(old[4 * lane + 1], 2 + 2 * below);
    EXPECT_EQ(old[4 * lane + 2], 3 - below);
    EXPECT_EQ(old[4 * lane + 3], 4.0f + static_cast<float>(lane));
  }
}

TEST(PtxForms, VectorsOfAtomicsHaveToLieAtMultiplesOfTheirSize) {
  const Ran ran =
      RunKernel("red.global.add.v4.f32 [%rd1+8], {%r2, %r2, %r2, %r2};", Bytes(Edges(1)), {}, 4);
  ASSERT_TRUE(ran.result.fault.has_value());
  EXPECT_EQ(ran.result.fault->what, "an address that is not a multiple of the 16 bytes accessed");
}

TEST(PtxForms, VectorsOfAtomicsInSharedMemoryAreNotTaken) {
  const auto module = Module::Parse(
      KernelText("atom.shared.add.v4.f32 {%r2, %r3, %r4, %r5}, [sh], {%r2, %r2, %r2, %r2};"),
      "k.ptx");
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(module->entries()[0].unsupported.size(), 1u);
}

// Two warps produce, two consume: a producer arrives and goes on, a consumer waits.
TEST(PtxForms, ArrivingAtABarrierDoesNotWait) {
  for (const std::string arrive :
       {"bar.arrive 1, 128;", "barrier.arrive 1, 128;", "barrier.cta.arrive.aligned 1, 128;"}) {
    const Ran ran = RunKernel(
        "setp.ge.u32 %p1, %r1, 64;\nmov.b32 %r2, sh;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r5, %r2, "
        "%r3;\n@%p1 bra produce;\nbar.sync 1, 128;\nld.shared.b32 %r4, [%r5+256];\nadd.s64 %rd7, "
        "%rd3, %rd4;\nst.global.b32 [%rd7], %r4;\nret;\nproduce:\nadd.s32 %r4, %r1, 1000;\n"
        "st.shared.b32 [%r5], %r4;\n" +
            arrive,
        {}, {}, 256, 128);
    ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
    const auto out = ran.As<uint32_t>(2);
    for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], 1064 + t);
  }
}

TEST(PtxForms, ReductionsAtABarrier) {
  const auto run = [](const std::string& reduction) {
    const Ran ran = RunKernel("rem.u32 %r2, %r1, 3;\nsetp.eq.u32 %p1, %r2, 0;\n" + reduction +
                                  "\nadd.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r4;",
                              {}, {}, 400, 100);
    EXPECT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
    const auto out = ran.As<uint32_t>(2);
    EXPECT_EQ(std::set<uint32_t>(out.begin(), out.end()).size(), 1u);
    return out[0];
  };
  EXPECT_EQ(run("bar.red.popc.u32 %r4, 0, %p1;"), 34u);  // 0, 3, …, 99
  EXPECT_EQ(run("bar.red.popc.u32 %r4, 0, !%p1;"), 66u);
  EXPECT_EQ(run("barrier.cta.red.popc.aligned.u32 %r4, 1, %p1;"), 34u);
  const auto predicate = [&](const std::string& text) {
    return run(text + "\nselp.b32 %r4, 1, 0, %p2;");
  };
  EXPECT_EQ(predicate("bar.red.and.pred %p2, 0, %p1;"), 0u);
  EXPECT_EQ(predicate("bar.red.or.pred %p2, 0, %p1;"), 1u);
  EXPECT_EQ(predicate("setp.lt.u32 %p1, %r1, 100;\nbarrier.red.and.pred %p2, 2, %p1;"), 1u);
  EXPECT_EQ(predicate("setp.gt.u32 %p1, %r1, 100;\nbarrier.cta.red.or.aligned.pred %p2, 2, %p1;"),
            0u);
}

// Arrivals that do not count again, states, and what is stored beside the warp.
TEST(PtxForms, BarriersInMemory) {
  const auto run = [](const std::string& body) {
    const Ran ran = RunKernel(
        "mov.b32 %r2, sh;\nsetp.eq.u32 %p1, %r1, 0;\n" + body + "\n@%p1 st.global.b32 [%rd3], %r4;",
        {}, {}, 4, 32);
    EXPECT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
    return ran.As<uint32_t>(2)[0];
  };
  const std::string start = "@%p1 mbarrier.init.shared::cta.b64 [%r2], 5;\nbar.sync 0;\n";
  // Five are missing before two arrive, three then.
  EXPECT_EQ(run(start + "@%p1 mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [%r2], 2;\n"
                        "mbarrier.pending_count.b64 %r4, %rd5;"),
            5u);
  EXPECT_EQ(run(start + "@%p1 mbarrier.arrive.noComplete.shared::cta.b64 %rd5, [%r2], 2;\n"
                        "@%p1 mbarrier.arrive.shared::cta.b64 %rd5, [%r2];\n"
                        "mbarrier.pending_count.b64 %r4, %rd5;"),
            3u);
  // What arrives for copies is expected in addition, unless that is left out.
  EXPECT_EQ(run(start + "@%p1 cp.async.mbarrier.arrive.shared::cta.b64 [%r2];\n"
                        "@%p1 mbarrier.arrive.shared::cta.b64 %rd5, [%r2];\n"
                        "mbarrier.pending_count.b64 %r4, %rd5;"),
            5u);
  EXPECT_EQ(run(start + "@%p1 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r2];\n"
                        "@%p1 mbarrier.arrive.shared::cta.b64 %rd5, [%r2];\n"
                        "mbarrier.pending_count.b64 %r4, %rd5;"),
            4u);
  // Two are dropped, three arrive: the next phase is of three.
  EXPECT_EQ(run(start + "@%p1 mbarrier.arrive_drop.shared::cta.b64 %rd5, [%r2], 2;\n"
                        "@%p1 mbarrier.arrive.shared::cta.b64 %rd5, [%r2], 3;\n"
                        "@%p1 mbarrier.arrive.shared::cta.b64 %rd5, [%r2];\n"
                        "mbarrier.pending_count.b64 %r4, %rd5;"),
            3u);
  // A phase of one arrival and eight bytes.
  EXPECT_EQ(
      run("@%p1 mbarrier.init.shared::cta.b64 [%r2], 1;\nbar.sync 0;\nadd.s32 %r3, %r2, 64;\n"
          "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [%r2], 8;\n"
          "@%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r3], {77, 78}, "
          "[%r2];\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n"
          "@!%p2 bra wait;\nld.shared.b32 %r4, [%r3+4];"),
      78u);
  EXPECT_EQ(
      run("@%p1 mbarrier.init.shared::cta.b64 [%r2], 1;\nadd.s32 %r3, %r2, 64;\n"
          "add.s32 %r5, %r2, 128;\nst.shared.b32 [%r3], 99;\nbar.sync 0;\n"
          "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 %rd5, [%r2], 16;\n"
          "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], "
          "[%r3], 16, [%r2];\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n"
          "@!%p2 bra wait;\nld.shared.b32 %r4, [%r5];"),
      99u);
}

// Each thread stores, arrives, waits and reads its mirror image.
TEST(PtxForms, BarrierOfACluster) {
  const Ran ran = RunKernel(
      "mov.b32 %r2, sh;\nshl.b32 %r3, %r1, 2;\nadd.s32 %r5, %r2, %r3;\nst.shared.b32 [%r5], %r1;\n"
      "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
      "sub.s32 %r6, 380, %r3;\nadd.s32 %r7, %r2, %r6;\nld.shared.b32 %r4, [%r7];\n"
      "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\nadd.s64 %rd7, %rd3, %rd4;\n"
      "st.global.b32 [%rd7], %r4;",
      {}, {}, 384, 96);
  ASSERT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
  const auto out = ran.As<uint32_t>(2);
  for (uint32_t t = 0; t < 96; ++t) EXPECT_EQ(out[t], 95 - t);
  const Ran stuck = RunKernel(
      "setp.lt.u32 %p1, %r1, 32;\n@%p1 barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "@!%p1 bar.sync 1, 96;",
      {}, {}, 4, 64);
  ASSERT_TRUE(stuck.result.fault.has_value());
}

TEST(PtxForms, TheAssemblerTakesThem) {
  if (std::system("ptxas --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no ptxas here";
  std::map<std::string, std::string> texts;  // by target
  int number = 0;
  for (const FormCase& form : ScalarForms()) {
    std::string text = KernelText(kLoad + form.text, form.target);
    std::string& all = texts[form.target];
    if (all.empty()) {
      all = text.substr(0, text.find(".visible"));
      // What is new on sm_100 needs a later text.
      if (std::string(form.target) == "sm_100a") all.replace(all.find("8.7"), 3, "8.8");
    }
    text = text.substr(text.find(".visible"));
    const std::string name = "k" + std::to_string(number++);
    text.replace(text.find(" k("), 3, " " + name + "(");
    for (const char* parameter : {"k_0", "k_1", "k_2"}) {
      for (size_t at = 0; (at = text.find(parameter, at)) != std::string::npos;)
        text.replace(at, 3, name + std::string(parameter).substr(1)), at += name.size() + 2;
    }
    all += text;
  }
  const auto folder =
      std::filesystem::temp_directory_path() /
      ("hloscope_forms_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
       std::to_string(reinterpret_cast<uintptr_t>(&texts)));
  std::filesystem::create_directories(folder);
  for (const auto& [target, text] : texts) {
    const std::string path = (folder / (target + ".ptx")).string();
    std::ofstream(path) << text;
    const std::string command =
        "ptxas -arch=" + target + " " + path + " -o /dev/null > " + path + ".log 2>&1";
    std::ifstream log;
    const int status = std::system(command.c_str());
    log.open(path + ".log");
    EXPECT_EQ(status, 0) << target << "\n" << std::string(std::istreambuf_iterator<char>(log), {});
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hloscope::ptx
