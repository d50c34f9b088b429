// What the advice for a TensorFlow graph has to take into account: what stands in the way of
// compiling its function as a whole, whose function it is, and the flags that the run had.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

// Of a graph and the functions that it calls.
struct WholeFacts {
  std::set<std::string> refused;  // operations that XLA has no kernel for, as their author knows it
  bool has_lists = false;         // tensor lists, which a tf.TensorArray is made of
  bool is_keras = false;          // the step of a Keras model, which model.compile() compiles
  // Functions are named as Keras 2 names its own (keras/src/engine/training.py): train_function and
  // the like, which programs without Keras have too, and run_step, which it makes with
  // jit_compile=True.
  bool has_function_names = false, has_run_step = false;
  void Add(const WholeFacts& other);
  // The names alone show no Keras: with run_step, or where Keras 2 was there, they do.
  void JudgeKeras(bool had_keras_2);
};

// Whether Keras calls what it compiles of a model so, of the program: "one_step_on_data".
bool IsKerasStep(std::string_view name);

// Whether compiling its function as a whole (jit_compile=True) fails at the node. Control flow and
// what Grappler makes of operations are not there then; handles and the input pipeline stay outside
// of the function.
bool StopsWhole(const TensorFlowNode& node);

// Counts a node that stands in the graph or in a function that it calls.
void AddNode(const TensorFlowNode& node, WholeFacts& facts);
// Counts the nodes of all functions that the main graph calls, but not what is compiled as a whole
// nor what tf.data calls.
void AddCalled(const TensorFlowGraph& graph, WholeFacts& facts);

// The advice with what keeps jit_compile=True from helping, where it advises that.
std::string FitAdvice(std::string advice, const WholeFacts& facts);
// As above; the reason with the smallest size of clusters that the run set.
void FitNode(TensorFlowNode& node, const WholeFacts& facts,
             const std::optional<std::string>& min_cluster_size);

// Of the program: "step" of "__inference_step_13" and of the module
// "a_inference_step_13__XlaMustCompile_true….1"; empty: it is no function of the program's.
std::string TensorFlowFunctionName(std::string_view name);

}  // namespace hloscope::dump
