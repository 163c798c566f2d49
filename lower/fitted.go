package lower

// Numbers that were fitted to recorded programs. The rules that produce them are not known. The comment of each names
// the programs; others may have other values.
const (
	// For the header's estimate of time, in bytes that DMA transfers in that time.

	// cyclesPerMicrosecond is the clock of the cores' work. Two recorded convolutions of 2304 terms leave 1425 to 1428.
	cyclesPerMicrosecond = 1428
	// unitCycles is the time in which a work unit of one channel comes from L2. Recorded products of one output on a
	// core, of 749 columns and 128 terms, leave 1.9 to 3.7.
	unitCycles = 2
	// tableElements is the number of elements of a channel that a core looks up in a cycle.
	// Case logical_not_1x1x375x375 and case logical_not_1x1x749x375 leave 7.9 to 8.2,
	// case chain_pair_ln_gelu_d256_s64 less than 11.5.
	tableElements = 8
	// pipelinedElements is the number of elements that a pass takes in a cycle from a planar task beside it.
	// Case chain_lnproj_d512_s256 and case norm_softmax_a3_1x8x128x128 leave 18.4 to 22.9.
	pipelinedElements = 20
	// groupBytes is one group of a reduction, in addition to the transfers. Case reduce_probe_sum_ax3_1x64x8x8 and
	// case reduce_probe_mean_ax3_1x128x16x16 leave 350 to 680.
	groupBytes = 512
	// foldedColumn is the time of a column of a patch of a reduction, and foldedLeast the least number of columns.
	// Patches of four rows leave 67 to 99 bytes for 32 columns (case norm_softmax_a3_1x8x128x128), 184 to 199 for 64
	// (case env_chain_softmax_h8_s256); single rows 84 to 99 for 16 (case norm_softmax_a3_1x128x16x16,
	// case reduce_probe_max_ax2_1x64x8x8), 267 to 533 for 128 (case chain_block_d256_s128_proj1) and 667 to 800 for 256
	// (case chain_attn_s256_dh64).
	foldedColumn, foldedLeast = 3, 32
	// patchPixels / patchShare is the time of a pixel of a patch of other planar work. Case norm_softmax_a3_1x8x128x128
	// and a softmax of rows of 12x64x64 on h14 leave 178 to 199 for a patch of 256.
	patchPixels, patchShare = 3, 4

	// foldedChannels is the maximum number of channels of the image to which a product's 64 rows are folded. Recorded
	// for 256 and 1024.
	foldedChannels = 4096
	// foldedRatio is the least ratio of columns to terms of a product of 64 rows that is folded. Recorded folded: 4.
	// Recorded unfolded: 0.25 to 2.
	foldedRatio = 4
	// foldedTerms is the least number of terms and of columns of a product of 16 or 32 rows that is folded. Recorded
	// folded: 2048 to 8192. Smaller ones are not recorded.
	foldedTerms = 2048
	// longSum is the number of terms, and of uses of each element of the source (outputs times taps), from which a sum
	// over folded rows has its largest unit shift. Recorded convolutions of up to 288 terms, or of up to 288 uses, do
	// not have it, nor does case conv_known_k1_c64_n512_s16_st1_g1_bias0_same;
	// case conv_probe_k1_c512_n512_s16_st1_g1_bias0_same does.
	longSum = 512
	// manyTerms is the number of terms from which such a sum has it though each element of its source is used fewer
	// than longSum times. Recorded with 288 uses: 4608 terms do not have it, 9216 do; with 256 uses 1024 terms do not.
	manyTerms = 8192
	// pairTaps is the minimum number of taps of a depthwise convolution of one row that computes two columns at a time.
	// Recorded only for nine taps on 375 columns.
	pairTaps = 9
	// imageInterleave is the number of channels that a padded image in scratch
	// interleaves if it divides them. One recorded case.
	imageInterleave = 8
	// transposedRows is the number of rows of a transposed result that leave at a time.
	// Case reduce_probe_max_ax2_1x64x8x8 and case reduce_probe_sum_ax2_1x64x8x8.
	transposedRows = 16
)
