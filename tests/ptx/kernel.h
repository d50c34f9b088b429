// Small kernels for tests: a body around one instruction, run on one warp.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "core/ptx/ptx.h"

namespace hloscope::ptx {

// Every text is among SeenTexts, of which docs/ptx-forms.md is made.
inline std::set<std::string>& SeenTexts() {
  static std::set<std::string> texts;
  return texts;
}

// An entry `k` of three pointers with registers of every width; %rd1, %rd2, %rd3 are the arguments,
// %rd4 is 4 * %tid.x, %r1 %tid.x.
inline std::string KernelText(const std::string& body, const std::string& target = "sm_90a") {
  const std::string text =
      ".version 8.7\n.target " + target +
      "\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n"
      ".visible .entry k(.param .u64 .ptr .align 256 k_0, .param .u64 .ptr .align 256 k_1, "
      ".param .u64 .ptr .align 256 k_2)\n{\n"
      ".reg .pred %p<9>;\n.reg .b16 %rs<99>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<99>;\n.shared "
      ".align 16 .b8 sh[4096];\n"
      "ld.param.b64 %rd1, [k_0];\nld.param.b64 %rd2, [k_1];\nld.param.b64 %rd3, [k_2];\nmov.u32 "
      "%r1, %tid.x;\n"
      "mul.wide.u32 %rd4, %r1, 4;\n" +
      body + "\nret;\n}\n";
  SeenTexts().insert(text);
  return text;
}

struct Ran {
  std::vector<std::byte> memory[3];
  LaunchResult result;
  template <typename T>
  std::vector<T> As(int i) const {
    std::vector<T> values(memory[i].size() / sizeof(T));
    std::memcpy(values.data(), memory[i].data(), values.size() * sizeof(T));
    return values;
  }
};

template <typename T>
std::vector<std::byte> Bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline Ran RunKernel(const std::string& body, std::vector<std::byte> a, std::vector<std::byte> b,
                     size_t out_bytes, uint32_t threads = 32, uint32_t blocks = 1,
                     LaunchOptions options = {}, const std::string& target = "sm_90a") {
  Ran ran;
  ran.memory[0] = std::move(a);
  ran.memory[1] = std::move(b);
  ran.memory[2].resize(out_bytes);
  const auto module = Module::Parse(KernelText(body, target), "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
  if (!module.has_value()) return ran;
  LaunchRequest request;
  request.entry = "k";
  request.grid = {blocks, 1, 1};
  request.block = {threads, 1, 1};
  request.dynamic_shared_bytes = 1024;
  for (auto& memory : ran.memory) request.arguments.push_back({memory, {}});
  auto result = Launch(*module, request, options);
  EXPECT_TRUE(result.has_value()) << (result.has_value() ? "" : result.error().ToString());
  if (result.has_value()) ran.result = *std::move(result);
  return ran;
}

// d[i] = instruction of %r2 = a[i] and %r3 = b[i], which writes %r4.
inline std::vector<uint32_t> RunOn32(const std::string& instruction, const std::vector<uint32_t>& a,
                                     const std::vector<uint32_t>& b) {
  std::vector<uint32_t> result;
  for (size_t first = 0; first < a.size(); first += 32) {
    std::vector<uint32_t> x(a.begin() + static_cast<long>(first),
                            a.begin() + static_cast<long>(std::min(first + 32, a.size())));
    std::vector<uint32_t> y(b.begin() + static_cast<long>(first),
                            b.begin() + static_cast<long>(std::min(first + 32, a.size())));
    const Ran ran = RunKernel(
        "add.s64 %rd5, %rd1, %rd4;\nld.global.b32 %r2, [%rd5];\nadd.s64 %rd6, %rd2, "
        "%rd4;\nld.global.b32 %r3, [%rd6];\n" +
            instruction + "\nadd.s64 %rd7, %rd3, %rd4;\nst.global.b32 [%rd7], %r4;",
        Bytes(x), Bytes(y), 4 * x.size(), static_cast<uint32_t>(x.size()));
    EXPECT_FALSE(ran.result.fault.has_value()) << ran.result.fault->ToString();
    for (const uint32_t v : ran.As<uint32_t>(2)) result.push_back(v);
  }
  return result;
}

}  // namespace hloscope::ptx
