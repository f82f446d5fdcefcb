import ciir.umass.edu.learning.DataPoint;
import ciir.umass.edu.learning.DenseDataPoint;
import ciir.umass.edu.learning.RankList;
import ciir.umass.edu.learning.Ranker;
import ciir.umass.edu.learning.RankerFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Ranks documents with models. Arguments: files of models; the documents are in the file of the same name with the ending
 * .txt, one in a line, with its row as comment. Prints, in RankLib's order: the model, the row, and the score.
 */
public class Score {
    public static void main(String[] args) throws Exception {
        for (String file : args) {
            Ranker ranker = new RankerFactory().loadRankerFromFile(file);
            List<DataPoint> documents = new ArrayList<>();
            for (String line : Files.readAllLines(Path.of(file + ".txt"))) {
                documents.add(new DenseDataPoint(line));
            }
            RankList ranked = ranker.rank(new RankList(documents));
            for (int at = 0; at < ranked.size(); at++) {
                DataPoint document = ranked.get(at);
                String row = document.getDescription().replace("#", "").trim();
                System.out.println("score\t" + file + "\t" + row + "\t" + ranker.eval(document));
            }
        }
    }
}
