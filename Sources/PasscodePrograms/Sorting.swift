internal import CSystem

/// Puts the numbers in ascending order, in place. The corresponding C function is `qsort`.
public func sort(_ numbers: inout [UInt32]) {
  unsafe cs_sort(&numbers, numbers.count)
}
