; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @input_scatter_fusion_1(ptr noalias nofree align 256 captures(none) dereferenceable(1048576000) %0, ptr noalias nofree readonly align 16 captures(none) dereferenceable(32800) %1, ptr noalias nofree readnone align 256 captures(none) dereferenceable(1048576000) %2) local_unnamed_addr #0 {
  %4 = addrspacecast ptr %1 to ptr addrspace(1)
  %5 = addrspacecast ptr %0 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %6 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !2
  %7 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !3
  %8 = shl nuw nsw i32 %7, 7
  %9 = lshr i32 %7, 3
  %.masked = and i32 %8, 896
  %10 = or disjoint i32 %.masked, %6
  %11 = mul nuw nsw i32 %9, 1025
  %12 = zext nneg i32 %10 to i64
  %13 = zext nneg i32 %11 to i64
  %14 = add i64 %13, %12
  %15 = getelementptr inbounds [4 x i8], ptr addrspace(1) %4, i64 %14
  %16 = getelementptr inbounds i8, ptr addrspace(1) %15, i64 4
  %17 = load i32, ptr addrspace(1) %16, align 4, !invariant.load !0, !alias.scope !13
  %18 = icmp slt i32 %17, 0
  %19 = add i32 %17, 32000
  %20 = select i1 %18, i32 %19, i32 %17
  %21 = icmp ult i32 %20, 32000
  %22 = mul nuw nsw i32 %9, 32768000
  %23 = mul nuw nsw i32 %10, 32000
  %24 = add nuw nsw i32 %23, %22
  %25 = add nuw nsw i32 %24, %20
  %26 = zext nneg i32 %25 to i64
  %27 = getelementptr inbounds [4 x i8], ptr addrspace(1) %5, i64 %26
  br i1 %21, label %28, label %30

28:                                               ; preds = %3
  %29 = atomicrmw fadd ptr addrspace(1) %27, float f0xB9000000 monotonic, align 4, !atomic.ignore.denormal.mode !0
  br label %30

30:                                               ; preds = %28, %3
  ret void
}

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

attributes #0 = { nounwind "nvvm.reqntid"="128,1,1" }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!1, !4}

!0 = !{}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !{i32 0, i32 128}
!3 = !{i32 0, i32 64}
!4 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!11 = distinct !{!11, i1 false, !"fused_scatter_1_bitcast_318_2"}
!12 = distinct !{!12, !11, !"fused_scatter_1_bitcast_318_2: argument 0"}
!13 = !{!12}
