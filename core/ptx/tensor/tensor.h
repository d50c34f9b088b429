// What tensor cores compute: D = A·B + C with the bits of each generation. Pure functions of bits;
// no IR, no registers of a machine. Fragments are those of mma.sync in the PTX ISA. The arithmetic
// of floats is the model of arXiv 2511.10909 (docs/internals/ptx.md has the table).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace hloscope::ptx {

enum class Element : uint8_t {
#define ELEMENT(enumerator, text, bits, mantissa, bias, specials) enumerator,
#include "core/ptx/tensor/elements.def"
#undef ELEMENT
};

// The element that PTX writes as `text` (without its dot); nullopt for no element of a tensor core.
std::optional<Element> ElementOf(std::string_view text);
// Its name in PTX.
std::string_view NameOf(Element element);

// mma.sync.aligned.mMnNkK.row.col.d.a.b.c on sm_`sm`.
struct MmaForm {
  int m, n, k;
  Element a, b, c, d;
  bool saturate = false;  // .satfinite
  int sm = 0;             // 80 for sm_80, 100 for sm_100a
};

enum class MmaOperand : uint8_t { kA, kB, kC, kD };

// An error of class kUnsupported names what of the form Mma cannot do.
Status CheckMma(const MmaForm& form);

// 32-bit registers that each lane holds of an operand; an f64 is two, its low half first. For a
// form that CheckMma lets through.
int RegistersOf(const MmaForm& form, MmaOperand operand);

// One mma.sync of a warp over fragments [register][lane]; d may be c. For a form that CheckMma lets
// through.
void Mma(const MmaForm& form, const uint32_t (*a)[32], const uint32_t (*b)[32],
         const uint32_t (*c)[32], uint32_t (*d)[32]);

// The same where each register is, with d in place of any operand too. False, and nothing is done,
// where only Mma can.
bool MmaInPlace(const MmaForm& form, const uint32_t* const* a, const uint32_t* const* b,
                const uint32_t* const* c, uint32_t* const* d);

enum class TensorUnit : uint8_t { kMma, kWgmma, kTcgen05 };

// Factors of a block-scaled product: each of `block` elements along k is multiplied by one.
struct BlockScales {
  int block = 0;
  bool is_ue4m3 = false;       // else ue8m0: a power of two, 255 being NaN
  const uint8_t* a = nullptr;  // [m][k / block]
  const uint8_t* b = nullptr;  // [n][k / block]
};

// One product of wgmma or tcgen05, or a narrow one of mma.sync (tensor/narrow.h): k is that of the
// instruction, 32 bytes of a and b; of pairs of four bits 64 elements.
struct TileForm {
  TensorUnit unit;
  int m, n, k;
  Element a, b, d;  // C has the type of D
  bool saturate = false;
  int sm = 0;
  const BlockScales* scales = nullptr;  // null: none
};

// Two elements of four bits a byte where they come from: kind::mxf4 and kind::mxf4nvf4.
inline bool HoldsPairs(const TileForm& form) { return form.k == 64; }

// An error of class kUnsupported names what of the form MultiplyTile cannot do.
Status CheckTile(const TileForm& form);

// D = A·B + C over dense row-major A[m][k], B[k][n], C[m][n], D[m][n] of the elements' bits; a tf32
// is 4 bytes, an element of four or six bits the low ones of a byte. d may be c; a null c is zeros.
// For a form that CheckTile lets through.
void MultiplyTile(const TileForm& form, const std::byte* a, const std::byte* b, const std::byte* c,
                  std::byte* d);

}  // namespace hloscope::ptx
