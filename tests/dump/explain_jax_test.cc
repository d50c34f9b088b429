// Error texts of JAX 0.10.2, as its functions raise them.
#include <gtest/gtest.h>

#include <string_view>

#include "core/dump/errors/explain.h"

namespace hloscope::dump {
namespace {

struct Row {
  std::string_view text, kind, reason, fix;  // parts of the last two
};

TEST(ExplainJaxTest, FunctionsOfArrays) {
  const Row rows[] = {
      {"jax.errors.ConcretizationTypeError: Abstract tracer value encountered where concrete value "
       "is expected: traced array with shape int32[]\nsegment_sum() `num_segments` argument.\nThe "
       "error occurred while tracing the function f at a.py:23 for jit.\n",
       "dynamic_shape", "the argument num_segments of segment_sum", "num_segments=N"},
      {"jax._src.export.shape_poly.InconclusiveDimensionOperation: Symbolic dimension comparison "
       "'b' > '3' is inconclusive.\nThis error arises for comparison operations with shapes that\n",
       "dynamic_shape", "whether b > 3: it may depend on the sizes", "constraints=['b >= N']"},
      {"ValueError: Function 'f' was exported for platforms '('tpu',)' but it is used on "
       "'('cpu',)'.\n",
       "unknown_device", "('tpu',) and called on ('cpu',)", "for several"},
      {"TypeError: dynamic_update_slice update must have the same rank as operand, got update "
       "shape "
       "(3,) for operand shape (3, 4).\n",
       "shape_mismatch", "of (3, 4) was given an update of shape (3,)", "u[None]"},
      {"ValueError: Array inputs to associative_scan must have the same first dimension. (saw: "
       "[(3, 4), (4, 3)])\n",
       "shape_mismatch", "leading sizes: (3, 4), (4, 3)", "axis="},
      {"ValueError: xp and fp must be one-dimensional arrays of equal size\n", "shape_mismatch",
       "jnp.interp takes xp and fp", "jax.vmap"},
      {"ValueError: Block shape for args[0] (= (Blocked(block_size=2), Blocked(block_size=2))) "
       "must have the same number of dimensions as the array shape (4,).\n",
       "mosaic", "the BlockSpec of args[0]", "one entry"},
      {"TypeError: ragged_dot_general requires that group_sizes.dtype is subtype of np.integer.\n",
       "element_type", "the group sizes", "int32"},
      {"    raise ValueError(f'Unknown resize method \"{s}\"')\nValueError: Unknown resize method "
       "\"cubicc\"\n",
       "argument_type", "no method cubicc", "lanczos3"},
      {"ValueError: axis 2 is out of bounds for array of dimension 1\n", "shape_mismatch",
       "axis 2 of an array of rank 1", "an axis from -1 to below 1"},
      {"ValueError: axis -4 is out of bounds for array of dimension 1\n", "shape_mismatch",
       "axis -4 of an array of rank 1", "an axis from -1 to below 1"},
  };
  for (const Row& row : rows) {
    const auto errors = ExplainErrors(row.text);
    ASSERT_EQ(errors.size(), 1U) << row.text;
    EXPECT_EQ(errors[0].kind, row.kind) << row.text;
    EXPECT_TRUE(errors[0].reason.contains(row.reason)) << errors[0].reason;
    EXPECT_TRUE(errors[0].fix.contains(row.fix)) << errors[0].fix;
  }
}

}  // namespace
}  // namespace hloscope::dump
