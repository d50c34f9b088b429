// Error texts of frameworks explained: real ones of TensorFlow 2.21 (tests/dump/errors), and others
// that people paste.
#include "core/dump/errors/explain.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "core/dump/errors/error_table.h"
#include "tests/base/paths.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

std::string ReadError(std::string_view name) {
  std::ifstream in(fs::path(SourcePath("tests/dump/errors")) / (std::string(name) + ".txt"));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Expected {
  std::string_view file, kind, node, op;
  int32_t line;
  std::string_view reason;  // part of it
};
constexpr Expected kErrors[] = {
#define EXPLAINED_ERROR(file, kind, node, op, line, reason) {file, kind, node, op, line, reason},
#include "tests/dump/errors/expected.def"
#undef EXPLAINED_ERROR
};

// Rows are found by the first bytes of a line: one that begins otherwise never fits.
TEST(ExplainTest, EachRowCanBeFound) {
  for (const ErrorRow& row : ErrorRows()) {
    const std::string_view first = row.pattern.first();
    EXPECT_TRUE(first.size() >= 4 && !first.contains('\n')) << row.text;
  }
}

TEST(ExplainTest, MustCompileFailuresOfTensorFlow) {
  for (const Expected& row : kErrors) {
    const std::string text = ReadError(row.file);
    ASSERT_FALSE(text.empty()) << row.file;
    const auto errors = ExplainErrors(text);
    ASSERT_FALSE(errors.empty()) << row.file;
    const ExplainedError& error = errors.front();
    EXPECT_EQ(error.kind, row.kind) << row.file;
    EXPECT_EQ(error.node, row.node) << row.file;
    EXPECT_EQ(error.op, row.op) << row.file;
    EXPECT_EQ(error.line, row.line) << row.file << " " << error.file;
    EXPECT_TRUE(error.file.ends_with("train.py")) << row.file << " " << error.file;
    EXPECT_NE(error.reason.find(row.reason), std::string::npos) << row.file << ": " << error.reason;
    EXPECT_FALSE(error.fix.empty()) << row.file;
  }
}

// TensorFlow logs a warning of each before Python raises it, which ends the program.
TEST(ExplainTest, WhatWasRaisedIsNoWarning) {
  int raised = 0;
  for (const Expected& row : kErrors) {
    const std::string text = ReadError(row.file);
    const size_t traceback = text.rfind("Traceback (most recent call last)");
    if (traceback == std::string::npos || !text.substr(traceback).contains("errors_impl."))
      continue;
    ++raised;
    const auto errors = ExplainErrors(text);
    ASSERT_FALSE(errors.empty()) << row.file;
    EXPECT_EQ(NameOf(errors.front().severity), "error") << row.file;
  }
  EXPECT_GT(raised, 5);
}

// Texts without a line of the program: what they mean, how much it matters, the fix.
TEST(ExplainTest, WhatRunsSomewhereElse) {
  struct Row {
    std::string_view text, kind, reason, fix;
    Severity severity;
  };
  using enum Severity;
  const Row rows[] = {
      {"/x/keras/src/trainers/trainer.py:248: UserWarning: Model doesn't support "
       "`jit_compile=True`. Proceeding with `jit_compile=False`.\n",
       "jit_compile_off", "runs the model without XLA", "supports_jit", kWarning},
      {"W0000 00:00:1700000000.000000  1234 mark_for_compilation_pass.cc:1849] (One-time warning): "
       "Not using XLA:CPU for cluster.\n",
       "auto_clustering_cpu", "not for CPUs", "--tf_xla_cpu_global_jit", kWarning},
      {"2024-02-11 15:48:49.130458: I external/local_tsl/tsl/cuda/cudart_stub.cc:31] Could not "
       "find cuda drivers on your machine, GPU will not be used.\n",
       "no_driver", "libcuda.so.1", "nvidia-smi", kNote},
      {"F0000 00:00:1795812101.707551    2744 parse_flags_from_env.cc:234] Unknown flag in "
       "XLA_FLAGS: --xla_dump_buffer_assignment_analysis\n",
       "unknown_flag", "no flag --xla_dump_buffer_assignment_analysis", "XLA_FLAGS", kError},
      {"UnimplementedError: Could not find compiler for platform CUDA: NOT_FOUND: could not\n",
       "no_compiler", "no XLA compiler for CUDA", "tensorflow[and-cuda]", kError},
      {", name: \"/device:XLA_GPU:0\"\ndevice_type: \"XLA_GPU\"\n", "xla_devices",
       "not the GPU that TensorFlow uses", "found no usable GPU", kError},
      {", name: \"/device:XLA_CPU:0\"\ndevice_type: \"XLA_CPU\"\n", "xla_devices",
       "not the CPU that TensorFlow uses", "/device:CPU:0, which is always there", kError},
      {"InvalidArgumentError: Function invoked by the following node is not compilable: {{node "
       "StatefulPartitionedCall}}\nFused conv implementation does not support grouped "
       "convolutions for now.\n",
       "must_compile", "grouped convolutions", "outside", kError},
      {"W0000 00:00:1795914674.606114   29098 assert_op.cc:39] Ignoring Assert operator a/Assert\n",
       "assert_dropped", "not checked", "outside", kWarning},
      // Of a program of TensorFlow 1.3, on a machine with a GPU: a queue, no variable.
      {"2017-08-22 07:52:42.943663: I tensorflow/core/common_runtime/simple_placer.cc:697] "
       "Ignoring "
       "device specification /device:GPU:0 for node 'prefetch_queue_Dequeue' because the input "
       "edge "
       "from 'prefetch_queue' is a reference connection and already has a device field set to "
       "/device:CPU:0\n",
       "soft_placement",
       "asked for on /device:GPU:0 and runs on /device:CPU:0, where prefetch_queue is",
       "create prefetch_queue under the same tf.device", kNote},
      // TensorFlow 1.14, its issue 30748.
      {"2019-07-19 10:34:52.872785: W tensorflow/core/common_runtime/colocation_graph.cc:1016] "
       "Failed to place the graph without changing the devices of some resources. Some of the "
       "operations (that had to be colocated with resource generating operations) are not "
       "supported on the resources' devices. Current candidate devices are [\n  "
       "/job:localhost/replica:0/task:0/device:CPU:0].\nSee below for details of this colocation "
       "group:\nColocation Debug Info:\nColocation group had the following types and supported "
       "devices: \nRoot Member(assigned_device_name_index_=-1 "
       "requested_device_name_='/device:GPU:0' assigned_device_name_='' "
       "resource_device_name_='/device:GPU:0' supported_device_types_=[CPU] "
       "possible_devices_=[]\nAssign: CPU \nIdentity: CPU XLA_CPU XLA_GPU \nVariableV2: CPU "
       "\nConst: CPU XLA_CPU XLA_GPU \n",
       "soft_placement", "all of them run on /job:localhost/replica:0/task:0/device:CPU:0",
       "hloscope doctor", kWarning},
      {"TypeError: compile() got an unexpected keyword argument 'target_device'\n", "gone_api",
       "no target_device", "jit_compile=True", kError},
      {"E0000 00:00:1737000000.123456 1234 cuda_dnn.cc:522] Loaded runtime CuDNN library: 8.9.2 "
       "but source was compiled with: 9.3.0.  CuDNN library needs to have matching major version "
       "and equal or higher minor version.\n",
       "cudnn_version", "9.3.0 is needed", "install cuDNN 9.3.0 or newer", kError},
      {"ValueError: shard_map applied to the function 'f' was given argument arrays\n\nthe passed "
       "args[0] of shape float32[6,8], where args[0] is bound to f's parameter 'x', corresponds to "
       "in_specs of value P('d',), which maps array axis 0 (of size 6) to mesh axis 'd' (of size "
       "4), but 4 does not evenly divide 6\n",
       "sharding", "array axis 0 has 6 elements, which the 4 devices of mesh axis 'd'",
       "multiple of 4", kError},
      {"out_specs is P() which implies that the corresponding output value is replicated across "
       "mesh axis 'd', but could not infer replication over any axes\n",
       "sharding", "out_specs P() says that all devices of mesh axis 'd'", "psum over 'd'", kError},
      {"TypeError: Argument types differ from the types for which this computation was compiled. "
       "Perhaps you are calling the compiled executable with a different enable_x64 mode than when "
       "it was AOT compiled? The mismatches are:\nArgument 'x' compiled with float32[3] and called "
       "with float32[4]\n",
       "argument_mismatch", "was compiled as float32[3] and is float32[4]", "with float32[3]",
       kError},
      {"NameError: unbound axis name: q\n", "axis_name", "names the axis q", "axis_name='q'",
       kError},
      {"jax.errors.JaxRuntimeError: INVALID_ARGUMENT: E0102: RuntimeProgramInputMismatch:\n"
       "Executable(jit__lambda) expected parameter 0 of size 1024 (f32[256]{0}) but got buffer "
       "with "
       "incompatible size 512 (f32[128]{0})\nSee https://openxla.org/xla/errors/error_0102\n",
       "argument_mismatch", "takes f32[256]{0} as parameter 0 and was given f32[128]{0}",
       "for f32[128]{0}", kError},
      {"TypeError: Error interpreting argument to <function f at 0x7> as an abstract array. The "
       "problematic value is of type <class 'object'> and was passed to the function at path "
       "o['a'].\n",
       "argument_type", "the argument o['a']", "a parameter of its own", kError},
      {"TypeError: cannot reshape array of shape (6, 5) (size 30) into shape (4, -1) because the "
       "product of specified axis sizes (4) does not evenly divide 30\n",
       "shape_mismatch", "30 elements do not divide by 4", "product divides 30", kError},
      {"TypeError: can only specify one unknown axis size with a `-1` value, got (-1, -1)\n",
       "shape_mismatch", "(-1, -1) has -1 more than once", "all sizes but one", kError},
      {"ValueError: Output character 'z' did not appear in the input\n", "shape_mismatch",
       "has the label z, which no operand has", "take z out", kError},
      {"ValueError: Output character 'i' appeared more than once in the output.\n",
       "shape_mismatch", "the label i twice", "jnp.diag", kError},
      {"ValueError: Number of einsum subscripts, 2, must be equal to the number of operands, 1.\n",
       "shape_mismatch", "of 2 operands, and it was given 1", "one group", kError},
      {"ValueError: Einstein sum subscript 'ijk' does not contain the correct number of indices "
       "for operand 0.\n",
       "shape_mismatch", "the subscript ijk", "one label for each", kError},
      {"ValueError: Size of label 'i' for operand 0 (6) does not match previous terms (5).\n",
       "shape_mismatch", "dimensions of sizes 6 and 5", "another label", kError},
      {"ValueError: cannot select an axis to squeeze out which has size not equal to one, got "
       "shape=(6, 5) and dimensions=(0,)\n",
       "shape_mismatch", "dimensions (0,) of the shape (6, 5)", "size 1", kError},
      {"ValueError: k argument to top_k must be no larger than size along axis; got k=9 with "
       "shape=[6, 5] and axis=1\n",
       "shape_mismatch", "9 elements along axis 1 of the shape [6, 5]", "smaller k", kError},
      {"ValueError: inconsistent size for core dimension 'm': 5 vs 6 on vectorized function with "
       "excluded=frozenset() and signature='(m,m),(m,n)->(m,n)'\n",
       "shape_mismatch", "the dimension m has the sizes 5 and 6", "the operand", kError},
      {"XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 37.25GiB.\n",
       "out_of_memory", "cannot allocate 37.25GiB", "batch", kError},
  };
  for (const Row& row : rows) {
    const auto errors = ExplainErrors(row.text);
    ASSERT_EQ(errors.size(), 1U) << row.text;
    EXPECT_EQ(errors[0].kind, row.kind) << row.text;
    EXPECT_TRUE(errors[0].reason.contains(row.reason)) << errors[0].reason;
    EXPECT_TRUE(errors[0].fix.contains(row.fix)) << errors[0].fix;
    EXPECT_EQ(NameOf(errors[0].severity), NameOf(row.severity)) << row.text;
  }
}

// The line of the function that raised, not that of the call that waited for it.
TEST(ExplainTest, CallbackFailsAtItsOwnLine) {
  const auto errors = ExplainErrors(
      "Traceback (most recent call last):\n  File \"/x/train.py\", line 25, in step\n    f(x)\n"
      "jax.errors.JaxRuntimeError: INTERNAL: CpuCallback error calling callback: Traceback (most "
      "recent call last):\n  File \"/x/train.py\", line 25, in step\n"
      "  File \"/e/site-packages/jax/_src/callback.py\", line 71, in __call__\n"
      "  File \"/x/train.py\", line 12, in host\nValueError: boom\n");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].line, 12);
}

// An assertion that fails at JAX's first operation, and others that read alike.
TEST(ExplainTest, AssertionsOfJaxAlone) {
  const std::string frame =
      "  File \"/env/site-packages/jax/_src/dispatch.py\", line 88, in apply_primitive\n";
  const std::string call = "    outs = fun(*args)\n";
  for (const std::string marks : {"", "           ^^^^^^^^^^\n", "           ~~~^^^^^^^\n"}) {
    for (const char* end : {"\n", "", "\n\nDuring handling of it\n"}) {
      const auto errors = ExplainErrors(frame + call + marks + "AssertionError" + end);
      ASSERT_EQ(errors.size(), 1U) << marks << end;
      EXPECT_EQ(errors[0].kind, "no_backend");
      EXPECT_TRUE(errors[0].reason.contains("JAX_PLATFORMS")) << errors[0].reason;
    }
    for (const std::string& other :
         {"  File \"/home/u/pool.py\", line 8, in map_all\n" + call + marks + "AssertionError\n",
          frame + call + marks + "AssertionError: 3 devices\n",
          frame + call + marks + "ValueError\n"}) {
      for (const ExplainedError& error : ExplainErrors(other))
        EXPECT_NE(error.kind, "no_backend") << other;
    }
  }
}

// What a log only informs of is no error of a program that goes on.
TEST(ExplainTest, InformationIsNoError) {
  const std::string line =
      "0000 00:00:1795812511.470947   31676 compilability_check_util.cc:62] Found uncompilable "
      "node "
      "StringLower (op StringLower): No registered 'StringLower' OpKernel for XLA_CPU_JIT devices "
      "compatible with node {{node StringLower}}\n";
  EXPECT_TRUE(ExplainErrors("I" + line).empty());
  EXPECT_EQ(ExplainErrors("E" + line).size(), 1U);
  EXPECT_TRUE(
      ExplainErrors("INFO:jax._src.xla_bridge:Unable to initialize backend 'tpu': INTERNAL: "
                    "Failed to open libtpu.so\n")
          .empty());
}

// Keras has no function with jit_compile=True; one told twice has the line of the call.
TEST(ExplainTest, FixesFitTheFrontEnd) {
  const auto keras = ExplainErrors(ReadError("tf_keras_fit"));
  ASSERT_FALSE(keras.empty());
  EXPECT_TRUE(keras[0].fix.starts_with("model.compile(jit_compile=False)")) << keras[0].fix;
  EXPECT_FALSE(keras[0].fix.contains("the function with"));
  const auto plain = ExplainErrors(ReadError("tf_print"));
  ASSERT_FALSE(plain.empty());
  EXPECT_TRUE(plain[0].fix.starts_with(
      "keep tf.print or tf.strings.format outside the function with jit_compile=True"));
  EXPECT_EQ(ExplainErrors(ReadError("tf_mirrored")).size(), 1U);
  const auto k5 = ExplainErrors(ReadError("tf_k5"));
  ASSERT_FALSE(k5.empty());
  EXPECT_FALSE(k5[0].fix.contains("at this line"));
}

// Of an argument or a result there is no operation to keep outside.
TEST(ExplainTest, StringsThatGoInOrOut) {
  const auto errors = ExplainErrors(ReadError("nested"));
  ASSERT_FALSE(errors.empty());
  EXPECT_TRUE(errors.front().fix.starts_with("return no strings from")) << errors.front().fix;
}

struct Pasted {
  std::string_view text, kind, part;
};

TEST(ExplainTest, TextsThatPeoplePaste) {
  const Pasted rows[] = {
      {"2020-12-18 17:04:12.5: I tensorflow/compiler/jit/xla_cpu_device.cc:41] Not creating XLA "
       "devices, "
       "tf_xla_enable_xla_devices not set\n",
       "xla_devices", "harmless"},
      {"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
       "allocate "
       "68719476736 bytes.\n",
       "out_of_memory", "68719476736"},
      {"ptxas fatal   : Unsupported .version 8.4; current version is '7.8'\n", "ptxas_version",
       "8.4"},
      {"CUDA driver version is insufficient for CUDA runtime version\n", "driver_too_old", "older"},
      {"E external/xla/xla/stream_executor/cuda/cuda_dnn.cc:534] Loaded runtime CuDNN library: "
       "8.6.0 but source was "
       "compiled with: 8.9.4.  CuDNN library needs\n",
       "cudnn_version", "8.6.0"},
      {"F rendezvous.cc:31] This thread has been waiting for `all-reduce.1` for 10 seconds and may "
       "be stuck\n",
       "collective_timeout", "all-reduce.1"},
      {"RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU "
       "devices.\n",
       "no_backend", "No visible"},
      {"Can't find libdevice directory ${CUDA_DIR}/nvvm/libdevice.\n", "libdevice_missing",
       "library"},
      {"tensorflow.python.framework.errors_impl.InvalidArgumentError: Input 1 to node `Reshape` "
       "with op Reshape must "
       "be a compile-time constant.\n",
       "compile_time_constant", "input 1"},
      {"XlaRuntimeError: UNIMPLEMENTED: Dynamic dimension on conv\n", "unimplemented", "conv"},
  };
  for (const Pasted& row : rows) {
    const auto errors = ExplainErrors(row.text);
    ASSERT_EQ(errors.size(), 1u) << row.text;
    EXPECT_EQ(errors[0].kind, row.kind);
    EXPECT_NE(errors[0].reason.find(row.part), std::string::npos) << errors[0].reason;
    EXPECT_FALSE(errors[0].fix.empty());
  }
  EXPECT_TRUE(ExplainErrors("all is well\n").empty());
}

TEST(ExplainTest, BuffersOfAnOutOfMemoryReport) {
  const auto errors = ExplainErrors(
      "Traceback (most recent call last):\n  File \"/home/u/train.py\", line 7, in <module>\n    "
      "step(x)\n"
      "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
      "allocate 12 bytes.\n"
      "BufferAssignment OOM Debugging.\nPeak buffers:\n\tBuffer 1:\n\t\tSize: 4.00GiB\n"
      "\t\tOperator: op_name=\"jit(step)/dot\"\n\t\tXLA Label: fusion\n\t\tShape: "
      "f32[1024,1048576]\n"
      "\t\t==========================\n\n\tBuffer 2:\n\t\tSize: 1.00GiB\n\t\tXLA Label: "
      "copy\n\t\tShape: f32[9]\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].line, 7);
  ASSERT_EQ(errors[0].buffers.size(), 2u);
  EXPECT_EQ(errors[0].buffers[0], "4.00GiB f32[1024,1048576] fusion (op_name=\"jit(step)/dot\")");
}

// Rows are found by the first four bytes, within one line.
TEST(ExplainTest, RowsCanBeFound) {
  for (const ErrorRow& row : ErrorRows()) {
    EXPECT_GE(row.pattern.first().size(), 4U) << row.text;
    EXPECT_FALSE(row.pattern.first().contains('\n')) << row.text;
  }
}

// The trace of the operation, and that of the call behind it in another file.
TEST(ExplainTest, AnErrorThatJaxRaisesTwiceIsOne) {
  constexpr std::string_view kMessage =
      "NotImplementedError: MLIR translation rule for primitive 'foo' not found for platform cpu\n";
  std::string text =
      "Traceback (most recent call last):\n  File \"/home/me/model.py\", line 14, in f\n";
  text.append("jax._src.source_info_util.JaxStackTraceBeforeTransformation: ").append(kMessage);
  text.append("\nThe above exception was the direct cause of the following exception:\n\n");
  const std::string call =
      "Traceback (most recent call last):\n  File \"/home/me/run.py\", line 7, in main\n" +
      std::string(kMessage);
  const auto once = ExplainErrors(text + call);
  ASSERT_EQ(once.size(), 1u);
  EXPECT_EQ(once[0].file, "/home/me/model.py");
  EXPECT_EQ(once[0].line, 14);
  // Again without such a trace: another one.
  EXPECT_EQ(ExplainErrors(text + call + "\n" + call).size(), 2u);
}

TEST(ExplainTest, DamagedTextsAreSurvived) {
  std::mt19937 random(7);
  const char* more = std::getenv("HLOSCOPE_MUTATIONS");
  const int count = more == nullptr ? 60 : std::atoi(more);
  for (int k = 0; k < count; ++k) {
    std::string text = ReadError(kErrors[static_cast<size_t>(k) % std::size(kErrors)].file);
    for (uint32_t n = 0; n < 1 + random() % 5 && !text.empty(); ++n) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 100);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 300));
          break;
        default:
          text.resize(at);
          break;
      }
    }
    for (const ExplainedError& error : ExplainErrors(text))
      EXPECT_FALSE(error.reason.empty()) << text;
  }
}

}  // namespace
}  // namespace hloscope::dump
