// Kernels of whole warp groups for tests: 64 KiB of dynamic shared memory, filled from the first
// argument before the body runs.
#pragma once

#include "tests/ptx/kernel.h"

namespace hloscope::ptx {

inline constexpr uint32_t kGroupShared = 65536;

// `body` runs with `image` in shared memory from `dyn` on (its address is in %r90, a multiple of
// 1024); the result is what it stores behind %rd3. %r91 is the warp, %r92 the lane.
inline std::string GroupBody(const std::string& body, size_t image_bytes) {
  return "mov.b32 %r90, dyn;\nshr.u32 %r91, %r1, 5;\nand.b32 %r92, %r1, 31;\n"
         "mov.u32 %r93, %ntid.x;\nshl.b32 %r94, %r1, 2;\nshl.b32 %r93, %r93, 2;\n"
         "fill:\nsetp.ge.u32 %p8, %r94, " +
         std::to_string(image_bytes) +
         ";\n@%p8 bra filled;\ncvt.u64.u32 %rd90, %r94;\nadd.s64 %rd90, %rd1, %rd90;\n"
         "ld.global.b32 %r95, [%rd90];\nadd.s32 %r96, %r90, %r94;\nst.shared.b32 [%r96], %r95;\n"
         "add.s32 %r94, %r94, %r93;\nbra fill;\nfilled:\nfence.proxy.async;\nbar.sync 0;\n" +
         body;
}

inline Ran RunGroup(const std::string& body, std::vector<std::byte> image, size_t out_bytes,
                    uint32_t threads = 128, const std::string& target = "sm_90a",
                    std::vector<std::byte> second = {}, const LaunchOptions& options = {}) {
  Ran ran;
  image.resize((image.size() + 3) / 4 * 4);
  const std::string text = KernelText(GroupBody(body, image.size()), target);
  ran.memory[0] = std::move(image);
  ran.memory[1] = std::move(second);
  ran.memory[2].resize(out_bytes);
  const auto module = Module::Parse(text, "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
  if (!module.has_value()) return ran;
  LaunchRequest request;
  request.entry = "k";
  request.block = {threads, 1, 1};
  request.dynamic_shared_bytes = kGroupShared;
  for (auto& memory : ran.memory) request.arguments.push_back({memory, {}});
  auto result = Launch(*module, request, options);
  EXPECT_TRUE(result.has_value()) << (result.has_value() ? "" : result.error().ToString());
  if (result.has_value()) ran.result = *std::move(result);
  return ran;
}

// "%r10, %r11, …"
inline std::string Registers(uint32_t first, uint32_t count) {
  std::string text;
  for (uint32_t i = 0; i < count; ++i) text += (i == 0 ? "%r" : ", %r") + std::to_string(first + i);
  return text;
}

// A matrix of small numbers, rows of M or N by k, and how its elements are encoded.
struct SmallMatrix {
  uint32_t rows, depth, bytes;
  std::vector<int> values;  // [row][k]
  uint32_t (*encode)(int);
  int At(uint32_t row, uint32_t k) const { return values[row * depth + k]; }
};

// Puts a matrix into shared memory as the canonical layouts of the PTX ISA have it (section "Shared
// memory matrix layout"): element by element, in units of 16 bytes. Gives the bytes of the image
// and the descriptor's two strides.
struct Placed {
  std::vector<std::byte> image;
  uint32_t leading = 0, stride = 0;
};
inline Placed Place(const SmallMatrix& m, bool transposed, uint32_t swizzle_bytes) {
  const uint32_t per = 16 / m.bytes;          // elements of a unit
  const uint32_t units = swizzle_bytes / 16;  // of a row of the pattern; 1: none
  Placed out;
  out.image.resize(kGroupShared / 2);
  out.stride = units == 1 ? 256 : 8 * swizzle_bytes;
  out.leading = units > 1    ? m.depth / 8 * out.stride
                : transposed ? (m.rows + per - 1) / per * out.stride
                             : 128;
  for (uint32_t row = 0; row < m.rows; ++row) {
    for (uint32_t k = 0; k < m.depth; ++k) {
      const uint32_t along = transposed ? row : k, across = transposed ? k : row;
      const uint32_t unit = along / per, in_unit = along % per * m.bytes;
      uint32_t at = across % 8 * swizzle_bytes;
      if (units == 1) {
        at += transposed ? across / 8 * out.leading + unit * out.stride
                         : across / 8 * out.stride + unit * out.leading;
      } else {
        const uint32_t line = at / 128;  // the pattern changes with it
        at += across / 8 * out.stride + (transposed ? unit / units * out.leading : 0);
        at += (unit % units ^ line % units) * 16;
      }
      const uint32_t bits = m.encode(m.At(row, k));
      std::memcpy(out.image.data() + at + in_unit, &bits, m.bytes);
    }
  }
  return out;
}

}  // namespace hloscope::ptx
