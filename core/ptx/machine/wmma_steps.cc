// wmma: matrices of a warp between memory and fragments, and their products. Where a fragment has
// its elements the PTX ISA leaves open: here lanes follow each other along the rows, each with
// elements side by side; registers beyond those are copies.
#include <array>
#include <cstring>
#include <vector>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {
namespace {

struct Shape {
  uint32_t m, n, k;
};

Shape ShapeOf(const Instruction& in) {
  constexpr Shape kShapes[] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}, {16, 16, 8}};
  return kShapes[static_cast<size_t>(ModifierWmmaShape(in)) - 1];
}

struct Matrix {
  uint32_t rows, columns, bits;  // of an element
  uint32_t per_lane() const { return rows * columns / kLanes; }
};

Matrix MatrixOf(const Instruction& in, WmmaOperand operand, Type type) {
  const Shape shape = ShapeOf(in);
  const uint32_t bits = RowOf(type).bits;
  if (operand == WmmaOperand::kA) return {shape.m, shape.k, bits};
  return operand == WmmaOperand::kB ? Matrix{shape.k, shape.n, bits}
                                    : Matrix{shape.m, shape.n, bits};
}

// The elements of a fragment in `slots`, row by row.
std::vector<uint32_t> Gather(const Warp& w, const Matrix& matrix, const Slot* slots) {
  std::vector<uint32_t> elements(matrix.rows * matrix.columns);
  const uint32_t each = matrix.per_lane(), per_register = 32 / matrix.bits;
  const uint64_t mask = (uint64_t{1} << matrix.bits) - 1;
  for (uint32_t l = 0; l < kLanes; ++l) {
    for (uint32_t e = 0; e < each; ++e) {
      const uint64_t bits = ReadLane(w, slots[e / per_register], l);
      elements[l * each + e] =
          static_cast<uint32_t>(bits >> (matrix.bits * (e % per_register)) & mask);
    }
  }
  return elements;
}

void Scatter(Warp& w, const Matrix& matrix, const std::vector<uint32_t>& elements,
             const Slot* slots, uint32_t registers) {
  const uint32_t each = matrix.per_lane(), per_register = 32 / matrix.bits;
  const uint32_t filled = each / per_register;
  for (uint32_t l = 0; l < kLanes; ++l) {
    for (uint32_t r = 0; r < registers; ++r) {
      uint64_t bits = 0;
      for (uint32_t e = 0; e < per_register; ++e) {
        bits |= uint64_t{elements[l * each + r % filled * per_register + e]} << (matrix.bits * e);
      }
      WriteLane(w, slots[r], l, bits);
    }
  }
}

// Whether all lanes take part, and rows or columns lie where tensor cores take them from.
bool IsPlaced(Warp& w, uint32_t mask, uint64_t address, uint64_t stride_bytes) {
  if (mask != kAllLanes) {
    w.block->Fail("wmma without all 32 lanes", w.first_thread);
  } else if (address % 32 != 0 || stride_bytes % 16 != 0) {
    w.block->Fail(
        "a matrix of wmma that is not 32-byte aligned, or whose rows are not 16-byte "
        "aligned",
        w.first_thread, address);
  }
  return !w.block->fault.has_value();
}

// The byte of element (row, column) from the first on.
uint64_t OffsetIn(const Instruction& in, uint32_t row, uint32_t column, uint64_t stride,
                  uint32_t bytes) {
  return (ModifierMatrixLayout(in) == MatrixLayout::kRow ? row * stride + column
                                                         : column * stride + row) *
         bytes;
}

// Rows, or columns, that lie side by side are one access.
void CountMatrix(Warp& w, const Instruction& in, const Matrix& matrix, AccessMode mode,
                 uint64_t address, uint64_t stride, uint32_t bytes) {
  const bool by_row = ModifierMatrixLayout(in) == MatrixLayout::kRow;
  const uint32_t along = by_row ? matrix.columns : matrix.rows;
  const uint32_t lines = by_row ? matrix.rows : matrix.columns;
  const StateSpace space = ModifierStateSpace(in);
  if (stride == along) return CountAccess(w, mode, space, address, uint64_t{along} * lines * bytes);
  for (uint32_t i = 0; i < lines; ++i)
    CountAccess(w, mode, space, address + i * stride * bytes, uint64_t{along} * bytes);
}

// registers, address, stride: without one rows, or columns, lie side by side.
void LoadMatrix(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t registers = in.slot_count - 2;
  const Matrix matrix = MatrixOf(in, ModifierWmmaOperand(in), in.type);
  const bool by_row = ModifierMatrixLayout(in) == MatrixLayout::kRow;
  const uint64_t stride = s[registers + 1].present() ? ReadLane(w, s[registers + 1], 0)
                          : by_row                   ? matrix.columns
                                                     : matrix.rows;
  const uint64_t address = AddressOf(w, in, s[registers], 0);
  const uint32_t bytes = matrix.bits / 8;
  if (!IsPlaced(w, m, address, stride * bytes)) return;
  CountMatrix(w, in, matrix, AccessMode::kRead, address, stride, bytes);
  std::vector<uint32_t> elements(matrix.rows * matrix.columns);
  for (uint32_t i = 0; i < elements.size(); ++i) {
    const uint64_t at =
        address + OffsetIn(in, i / matrix.columns, i % matrix.columns, stride, bytes);
    if (!Load(w, ModifierStateSpace(in), at, i / matrix.per_lane(), &elements[i], bytes)) return;
  }
  Scatter(w, matrix, elements, s, registers);
}

// address, registers, stride.
void StoreMatrix(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t registers = in.slot_count - 2;
  const Matrix matrix = MatrixOf(in, WmmaOperand::kD, in.type);
  const bool by_row = ModifierMatrixLayout(in) == MatrixLayout::kRow;
  const uint64_t stride = s[registers + 1].present() ? ReadLane(w, s[registers + 1], 0)
                          : by_row                   ? matrix.columns
                                                     : matrix.rows;
  const uint64_t address = AddressOf(w, in, s[0], 0);
  const uint32_t bytes = matrix.bits / 8;
  if (!IsPlaced(w, m, address, stride * bytes)) return;
  CountMatrix(w, in, matrix, AccessMode::kWrite, address, stride, bytes);
  const std::vector<uint32_t> elements = Gather(w, matrix, s + 1);
  for (uint32_t i = 0; i < elements.size(); ++i) {
    const uint64_t at =
        address + OffsetIn(in, i / matrix.columns, i % matrix.columns, stride, bytes);
    if (!Store(w, ModifierStateSpace(in), at, i / matrix.per_lane(), &elements[i], bytes)) return;
  }
}

// Sixteen rows and eight columns by one mma.sync, whose fragments are filled here.
class Tile {
 public:
  Tile(const MmaForm& form, uint32_t bits, uint32_t sum_bits)
      : form_(form), bits_(bits), sum_bits_(sum_bits) {}

  // f(row, k), f(k, column), f(row, column).
  template <typename A, typename B, typename C>
  void Multiply(A a, B b, C c) {
    const uint32_t per = 32 / bits_;
    for (uint32_t l = 0; l < kLanes; ++l) {
      for (uint32_t r = 0; r < Registers(MmaOperand::kA); ++r) {
        a_[r][l] = Packed(bits_, [&](uint32_t e) {
          return a(l / 4 + 8 * (r % 2), l % 4 * per + r / 2 * 4 * per + e);
        });
      }
      for (uint32_t r = 0; r < Registers(MmaOperand::kB); ++r) {
        b_[r][l] =
            Packed(bits_, [&](uint32_t e) { return b(l % 4 * per + r * 4 * per + e, l / 4); });
      }
      ForSums(l, [&](uint32_t r, uint32_t at, uint32_t row, uint32_t column) {
        if (at == 0) c_[r][l] = 0;
        c_[r][l] |= c(row, column) << at;
      });
    }
    Mma(form_, a_, b_, c_, d_);
  }

  // f(row, column, sum) of all.
  template <typename F>
  void ForResults(F f) const {
    for (uint32_t l = 0; l < kLanes; ++l) {
      ForSums(l, [&](uint32_t r, uint32_t at, uint32_t row, uint32_t column) {
        const uint64_t mask = (uint64_t{1} << sum_bits_) - 1;
        f(row, column, static_cast<uint32_t>(d_[r][l] >> at & mask));
      });
    }
  }

 private:
  uint32_t Registers(MmaOperand operand) const {
    return static_cast<uint32_t>(RegistersOf(form_, operand));
  }
  template <typename F>
  static uint32_t Packed(uint32_t bits, F f) {
    uint32_t value = 0;
    for (uint32_t e = 0; e < 32 / bits; ++e) value |= f(e) << (bits * e);
    return value;
  }
  // f(register, bit, row, column) of the sums of a lane.
  template <typename F>
  void ForSums(uint32_t lane, F f) const {
    const uint32_t per = 32 / sum_bits_;
    for (uint32_t i = 0; i < 4; ++i)
      f(i / per, i % per * sum_bits_, lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2);
  }

  MmaForm form_;
  uint32_t bits_, sum_bits_;
  uint32_t a_[8][kLanes] = {}, b_[4][kLanes] = {}, c_[4][kLanes] = {}, d_[4][kLanes] = {};
};

uint32_t Registers(uint32_t elements, uint32_t bits) { return elements * bits / 32 / kLanes; }

// d, a, b, c. Eight rows are multiplied as columns: the sums are those of the same products.
void MultiplyMatrices(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("wmma without all 32 lanes", w.first_thread);
  const Shape shape = ShapeOf(in);
  const WmmaTypes types = WmmaTypesOf(in);
  const uint32_t bits = RowOf(types.factors).bits;
  const Matrix a{shape.m, shape.k, bits}, b{shape.k, shape.n, bits};
  const Matrix d{shape.m, shape.n, RowOf(types.d).bits}, c{shape.m, shape.n, RowOf(types.c).bits};
  // f16 has eight registers whatever its shape.
  const bool is_half = types.factors == Type::kF16;
  const uint32_t a_registers = is_half ? 8 : Registers(shape.m * shape.k, bits);
  const uint32_t b_registers = is_half ? 8 : Registers(shape.k * shape.n, bits);
  const uint32_t d_registers = Registers(shape.m * shape.n, d.bits);
  const std::vector<uint32_t> left = Gather(w, a, s + d_registers),
                              right = Gather(w, b, s + d_registers + a_registers),
                              added = Gather(w, c, s + d_registers + a_registers + b_registers);
  std::vector<uint32_t> sums(shape.m * shape.n);
  const MmaForm form = WmmaFormOf(in, w.block->target);
  const uint32_t sum_bits = form.d == Element::kF16 ? 16 : 32;
  const bool turned = shape.m < 16;
  for (uint32_t top = 0; top < (turned ? shape.n : shape.m); top += 16) {
    for (uint32_t first = 0; first < (turned ? shape.m : shape.n); first += 8) {
      Tile tile(form, bits, sum_bits);
      const auto at = [&](uint32_t row, uint32_t column) {
        return turned ? (first + column) * shape.n + top + row
                      : (top + row) * shape.n + first + column;
      };
      const auto of_left = [&](uint32_t row, uint32_t k) { return left[row * shape.k + k]; };
      const auto of_right = [&](uint32_t k, uint32_t column) {
        return right[k * shape.n + column];
      };
      tile.Multiply(
          [&](uint32_t row, uint32_t k) {
            return turned ? of_right(k, top + row) : of_left(top + row, k);
          },
          [&](uint32_t k, uint32_t column) {
            return turned ? of_left(first + column, k) : of_right(k, first + column);
          },
          [&](uint32_t row, uint32_t column) { return added[at(row, column)]; });
      tile.ForResults(
          [&](uint32_t row, uint32_t column, uint32_t sum) { sums[at(row, column)] = sum; });
    }
  }
  Scatter(w, d, sums, s, d_registers);
}

}  // namespace

WmmaTypes WmmaTypesOf(const Instruction& in) {
  // f16 names the types of d and c, the others those of a and b.
  if (in.type == Type::kF16 || in.type == Type::kF32) return {Type::kF16, in.type, in.source};
  const bool is_integer = in.type == Type::kS8 || in.type == Type::kU8;
  const Type sums = is_integer ? Type::kS32 : Type::kF32;
  return {in.type, sums, sums};
}

MmaForm WmmaFormOf(const Instruction& in, uint32_t target) {
  const WmmaTypes types = WmmaTypesOf(in);
  const auto element = [](Type type) { return *ElementOf(RowOf(type).text); };
  MmaForm form{16,
               8,
               static_cast<int>(ShapeOf(in).k),
               element(types.factors),
               element(types.factors),
               element(types.d),
               element(types.d)};
  form.saturate = ModifierSatfinite(in) == Satfinite::kOn;
  form.sm = static_cast<int>(target);
  return form;
}

uint64_t WmmaProductsOf(const Instruction& in) {
  const Shape shape = ShapeOf(in);
  return uint64_t{shape.m} * shape.n * shape.k;
}

Step WmmaStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kWmmaLoad:
      return LoadMatrix;
    case Operation::kWmmaStore:
      return StoreMatrix;
    case Operation::kWmmaMultiply:
      return WmmaTypesOf(i).d == WmmaTypesOf(i).c ? MultiplyMatrices : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx
