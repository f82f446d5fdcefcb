import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.solr.client.solrj.embedded.JettySolrRunner;

/** Starts Solr on the loopback address; stops when its standard input ends. Argument: the home folder. */
public class StartSolr {
    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        Files.writeString(home.resolve("solr.xml"), "<solr/>");
        JettySolrRunner server = new JettySolrRunner(home.toString(), "/solr", 0);
        server.start();
        System.out.println(server.getBaseUrl());
        while (System.in.read() >= 0) {
        }
        server.stop();
        System.exit(0);
    }
}
